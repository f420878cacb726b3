"""The experiments of the paper: runs, tables and figures."""
