"""Local runs with an AWS emulator, Terraform and cdktf."""
