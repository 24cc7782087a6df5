/**
 * For tests of agents: a plugin that keeps everything in memory, and renders traces as text for comparison.
 *
 * @example
 * const plugin = createTestPlugin({ host: 'my-agent' })
 * runMyAgent(plugin)
 * expect(plugin.tree()).toBe('agent OK\n  llm.qwen3 OK')
 */

import { type LogEvent, userExtensions } from './delivery/pipeline/index.ts'
import { createMemoryPipeline, type MetricSample } from './delivery/pipeline/memory.ts'
import { resolveConfig } from './plugin/config/resolve.ts'
import { splitOptions, TracingPlugin } from './plugin/create-plugin.ts'
import { createDiagnostics } from './plugin/diagnostics.ts'
import type { Plugin, PluginOptions } from './plugin/plugin.ts'
import { pipelineSettings } from './plugin/settings.ts'
import { memoryTelemetry } from './plugin/telemetry.ts'
import { readExportLine, type StoredSpan } from './reading/stored-span.ts'
import { buildForest } from './reading/trace-forest.ts'
import { type OutlineOptions, outline } from './reading/tree-outline.ts'

export type { LogEvent } from './delivery/pipeline/index.ts'
export type { MetricSample } from './delivery/pipeline/memory.ts'
export type { Plugin, PluginOptions } from './plugin/plugin.ts'
export type { Attributes, AttributeValue } from './reading/attribute-value.ts'
export type { StoredEvent, StoredLink, StoredSpan, StoredSpanKind, StoredSpanStatus } from './reading/stored-span.ts'
export type { OutlineOptions } from './reading/tree-outline.ts'

/** A plugin with access to its recorded data. */
export interface TestPlugin extends Plugin {
  /** Spans that have ended, in the order of their ends. */
  spans(): readonly StoredSpan[]
  /** All traces as indented text, oldest first, separated by a blank line. */
  tree(options?: OutlineOptions): string
  /** The current value of every series of every instrument. */
  metrics(): Promise<readonly MetricSample[]>
  /** Log events, in the order of emission. */
  logs(): readonly LogEvent[]
  /** Lines that a plugin would print to stderr. */
  readonly reported: readonly string[]
}

/**
 * Creates a plugin with only its options as configuration: reads no file and no variable, and writes and sends no data. Time
 * is that of the records (`at`), so that a test controls it.
 */
export function createTestPlugin(
  options: Omit<PluginOptions, 'tracerProvider' | 'meterProvider' | 'logger'> = {},
): TestPlugin {
  const { host, config: code, extensions } = splitOptions(options)
  const reported: string[] = []
  const report = { ...createDiagnostics(undefined), warn: collect, error: collect }
  function collect(line: string): void {
    reported.push(line)
  }
  const { config, problems } = resolveConfig({ code, env: {}, home: '/nonexistent', hostName: host })
  for (const { message } of problems) collect(message)
  const settings = pipelineSettings({ ...config, local_log: false, backends: [] }, {}, '/nonexistent')
  const pipeline = createMemoryPipeline(settings, userExtensions(extensions, settings.flushWaitMillis, collect))
  const plugin = new TracingPlugin(report, {
    host: host ?? '',
    config,
    telemetry: memoryTelemetry(pipeline),
    environment: { env: {}, home: '/nonexistent', isReplay: true },
    extensions,
  })
  const spans = (): StoredSpan[] => {
    drainQueue()
    return pipeline.lines().flatMap(readExportLine)
  }
  // Processes everything emitted before the call.
  function drainQueue(): void {
    plugin.stats()
  }
  return {
    ...plugin,
    spans,
    tree: how =>
      buildForest(spans())
        .map(tree => outline(tree, how))
        .join('\n\n'),
    metrics: () => pipeline.samples(),
    logs() {
      drainQueue()
      return pipeline.logEvents
    },
    get reported() {
      drainQueue()
      return reported
    },
  }
}
