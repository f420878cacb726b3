"""The paper's three experiments, with figures, tables and pages."""
