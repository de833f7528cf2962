"""Applications of the library: plans and records, the ledger, the command, the audit, the bridge to OpenDP."""
