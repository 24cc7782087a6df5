import { createMemoryPipeline } from '../../src/delivery/pipeline/memory.ts'
import { resolveConfig } from '../../src/plugin/config/resolve.ts'
import { splitOptions, TracingPlugin } from '../../src/plugin/create-plugin.ts'
import { createDiagnostics } from '../../src/plugin/diagnostics.ts'
import type { Plugin, PluginOptions } from '../../src/plugin/plugin.ts'
import { pipelineSettings } from '../../src/plugin/settings.ts'
import { memoryTelemetry } from '../../src/plugin/telemetry.ts'
import { readExportLine, type StoredSpan } from '../../src/reading/stored-span.ts'
import { buildForest } from '../../src/reading/trace-forest.ts'
import { outline } from '../../src/reading/tree-outline.ts'
import { overriding } from '../support/overriding.ts'

export interface LivePlugin extends Plugin {
  spans(): StoredSpan[]
  tree(): string
}

interface Surroundings {
  readonly env?: Readonly<Record<string, string>>
  /** What sending takes. Default: nothing. */
  readonly flush?: () => Promise<void>
  /** What is told to write the log. */
  readonly startLogFlush?: () => void
}

/** A plugin as a host has it (the clock sweeps, the environment counts), but for that its spans stay in memory. */
export function createLivePlugin(options: PluginOptions = {}, { env = {}, ...sending }: Surroundings = {}): LivePlugin {
  const { host, config: code } = splitOptions(options)
  const { config } = resolveConfig({ code, env: {}, home: '/nonexistent', hostName: host })
  const pipeline = createMemoryPipeline(
    pipelineSettings({ ...config, local_log: false, backends: [] }, {}, '/nonexistent'),
  )
  const telemetry = memoryTelemetry(overriding(pipeline, sending))
  const environment = { env, home: '/nonexistent', isReplay: false }
  const plugin = new TracingPlugin(createDiagnostics(undefined), { host: host ?? '', config, telemetry, environment })
  const spans = (): StoredSpan[] => {
    // What was told before is worked off for whoever asks.
    plugin.stats()
    return pipeline.lines().flatMap(readExportLine)
  }
  return {
    ...plugin,
    spans,
    tree: () =>
      buildForest(spans())
        .map(tree => outline(tree))
        .join('\n\n'),
  }
}
