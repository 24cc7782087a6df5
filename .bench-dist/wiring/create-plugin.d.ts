import { type MeterProvider, type TracerProvider } from '@opentelemetry/api';
import type { ResolvedConfig } from '../config/types.ts';
import { type Pipeline } from '../pipeline/index.ts';
import { type Diagnostics } from './diagnostics.ts';
import type { Plugin, PluginOptions } from './plugin.ts';
import { type Environment } from './settings.ts';
/** What a program of ours may set beside a user's options: where it runs, and that it replays. */
export interface Surroundings {
    readonly env: Environment;
    readonly home: string;
    /** Only the records' own time counts, and exit is the program's own business. */
    readonly isReplay: boolean;
    readonly diagnostics?: Diagnostics;
}
/** Where spans and points go: a pipeline of ours, or providers that were handed in. */
export interface Outlets {
    readonly tracerProvider: TracerProvider;
    readonly meterProvider: MeterProvider;
    readonly pipeline: Pipeline | undefined;
}
/**
 * A plugin that records hooks as traces and metrics. Configuration comes from defaults, file, environment and these
 * options, the later ones winning; a value that cannot be used is one line on stderr, never an exception.
 *
 * @example
 * const plugin = createPlugin({ host: 'my-agent', backends: [{ type: 'jaeger' }] })
 * plugin.on('on_session_start', { session_id: 's1', model: 'qwen3' })
 */
export declare function createPlugin(options?: PluginOptions): Plugin;
export declare function createPluginIn(options: PluginOptions, surroundings: Surroundings): Plugin;
export declare function outletsOf(pipeline: Pipeline): Outlets;
/** A plugin from its resolved configuration and its outlets. */
export declare function assemble(host: string, config: ResolvedConfig, { tracerProvider, meterProvider, pipeline }: Outlets, { env, isReplay }: Surroundings, report: Diagnostics): Plugin;
