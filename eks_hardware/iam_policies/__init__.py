"""IAM policy documents, as plain data: tested for size and least privilege without Node."""
