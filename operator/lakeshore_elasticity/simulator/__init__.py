"""The simulator: the production policies on a trace of jobs, in simulated time, beside KEDA and the HPA."""

from lakeshore_elasticity.simulator.chart import Scale, chart_svg, scale_of
from lakeshore_elasticity.simulator.keda_hpa import KedaHpa, baselines
from lakeshore_elasticity.simulator.report import render_report
from lakeshore_elasticity.simulator.results import Results, Run, Sample
from lakeshore_elasticity.simulator.running import keda_hpa_baseline, simulate
from lakeshore_elasticity.simulator.shapes import BUILTIN_SHAPES, shape
from lakeshore_elasticity.simulator.start_delays import FixedDelay, LognormalDelay, StartDelay
from lakeshore_elasticity.simulator.traces import Trace, TraceError, load_trace

__all__ = [
    "BUILTIN_SHAPES",
    "FixedDelay",
    "KedaHpa",
    "LognormalDelay",
    "Results",
    "Run",
    "Sample",
    "Scale",
    "StartDelay",
    "Trace",
    "TraceError",
    "baselines",
    "chart_svg",
    "keda_hpa_baseline",
    "load_trace",
    "render_report",
    "scale_of",
    "shape",
    "simulate",
]
