import type { ResolvedConfig } from '../config/types.ts';
import type { CoreOptions } from '../core/options.ts';
import type { PipelineSettings } from '../pipeline/index.ts';
import type { Draw } from '../spans/span-definition.ts';
export type Environment = Readonly<Record<string, string | undefined>>;
/** How spans are drawn: the part of the configuration that the definitions see. */
export declare function drawOf(config: ResolvedConfig, warn: (line: string) => void): Draw;
export type CoreConfig = Pick<CoreOptions, 'namespace' | 'statusOk' | 'traceScope' | 'delegation' | 'delegatingTools' | 'skillSpans' | 'emitGenAiMetrics' | 'metricsLabelLimit' | 'rootSpanTtlMillis' | 'flushOnSessionEnd' | 'flushWaitMillis' | 'remoteParent'>;
export declare function coreConfigOf(config: ResolvedConfig, env: Environment): CoreConfig;
export declare function pipelineSettings(config: ResolvedConfig, env: Environment, home: string): PipelineSettings;
