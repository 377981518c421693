"""Answers with llm's Python API: `Collection.similar` in a process that stays."""

from __future__ import annotations

import sys

import llm
import sqlite_utils
from plain_store import RESULTS, answer

notes = llm.Collection("notes", sqlite_utils.Database(sys.argv[1]))
answer(lambda question: notes.similar(question, number=RESULTS))
