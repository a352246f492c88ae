"""Carries out remediations for findings of the exporter: planned, gated, confirmed on fresh reads, and kept on record.

    source ─> gates ─> confirm ─> approve ─> execute ─> ledger ─> the finding goes

Findings are hints. What is done is decided on what the API server says right before (`confirm`), and one module sends
writes (`execute`). With the defaults nothing is written.
"""
