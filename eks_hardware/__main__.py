"""``python -m eks_hardware``: the CDKTF app, for a project that has only strategy files."""

from eks_hardware._startup import short_lived, start_node

short_lived()
start_node()

from eks_hardware.stacks.app import main  # noqa: E402  after the lines above

raise SystemExit(main())
