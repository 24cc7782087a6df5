import type { PluginStats } from '../wiring/plugin.ts';
import type { TracePlace } from './trace-place.ts';
/** Where the traces are, and what to do next: a line each, ready to be copied. */
export declare function nextSteps(stats: PluginStats, place: TracePlace): string;
