"""The rooms, files and definitions that no pin reaches, each with the reason for which it carries no claim."""

ELSEWHERE = {
    "audit": "its documents pin what they prove, the rest shows and searches",
    "cli": "it calls the public names and shows what they return",
    "ledger/chart.py": "it draws what the records say",
    "ledger/export.py": "it hands on what the records say",
    "ledger/report.py": "it shows what the records say",
    "ledger/copies.py": "it copies records, and what it wrote is verified as every ledger is",
    "measurements/_catalogue.py": "it lists constructors for people, each of which makes its own claim",
    "measurements/_comparison.py": "it checks what is asked, and shows rows that are pinned where they are made",
    "measurements/_comparison_plots.py": "it draws what curves say",
    "proof": "what says whether pins are current cannot pin itself: tests/proof holds it",
}
UNREACHED = {
    "tables.files:_STDIN": "the name by which standard input goes",
    "tables.files:_stdin": "it reads bytes, as other functions read files",
    ":__all__": "the list of public names, which a test of the API holds",
    ":__getattr__": "it loads a public name from its home when it is asked for",
    ":__dir__": "it lists the public names",
    "core.public_names:PUBLIC": "the public names, which a test of the API holds",
    "core.public_names:HOMES": "where each public name is loaded from, which a test of the API holds",
    "measurements._listed:constructors": "it lists constructors, each of which has its proof",
    "ledger:__all__": "the list of names that this folder hands on",
    "core.candidates:index_candidates": "it makes the class that core/chaining pins, of items that are public",
    "core.partials:partial": "it hands its arguments to the constructor, whose claim is proved",
    "errors:PrivacyViolationError": "the audit raises it when a claim was refuted",
    "errors:ProofError": "it is about documents, and raised by proof only",
    "measurements.partition_selection:TRIED": "what the verifier tries for the arguments that no other constructor has",
    "tables.files:_SUFFIXES": "which file is read by which back end: a table is checked when it is used",
    "tables.files:_file": "it opens a file: a table is checked when it is used",
    "tables.files:read_table": "it reads a file: a table is checked when it is used",
}
