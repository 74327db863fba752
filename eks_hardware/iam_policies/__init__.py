"""IAM policy documents as plain data, which tests check for size and least privilege without Node."""
