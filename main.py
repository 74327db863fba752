"""The CDKTF app of this repository; `cdktf` runs it (cdktf.json)."""

from eks_hardware.stacks.app import main

raise SystemExit(main())
