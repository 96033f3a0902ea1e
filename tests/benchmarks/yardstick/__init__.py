"""Lakeshore's benchmarks: what is measured, how, and the report that ``scripts/bench`` writes."""
