"""``python -m eks_hardware``: the CDKTF app, for a project that has only strategy files."""

from eks_hardware.stacks.app import main

raise SystemExit(main())
