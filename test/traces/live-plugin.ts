import { resolveConfig } from '../../src/config/resolve.ts'
import { createMemoryPipeline } from '../../src/pipeline/memory.ts'
import { readExportLine, type StoredSpan } from '../../src/viewer/stored-span.ts'
import { buildForest } from '../../src/viewer/trace-forest.ts'
import { outline } from '../../src/viewer/tree-outline.ts'
import { assemble } from '../../src/wiring/create-plugin.ts'
import { createDiagnostics } from '../../src/wiring/diagnostics.ts'
import { apart } from '../../src/wiring/extensions.ts'
import type { Plugin, PluginOptions } from '../../src/wiring/plugin.ts'
import { pipelineSettings } from '../../src/wiring/settings.ts'
import { telemetryOf } from '../../src/wiring/telemetry.ts'

export interface LivePlugin extends Plugin {
  spans(): StoredSpan[]
  tree(): string
}

interface Surroundings {
  readonly env?: Readonly<Record<string, string>>
  /** What sending takes. Default: nothing. */
  readonly flush?: () => Promise<void>
}

/** A plugin as a host has it (the clock sweeps, the environment counts), but for that its spans stay in memory. */
export function createLivePlugin(options: PluginOptions = {}, { env = {}, flush }: Surroundings = {}): LivePlugin {
  const { host, config: code } = apart(options)
  const { config } = resolveConfig({ code, env: {}, home: '/nonexistent', hostName: host })
  const pipeline = createMemoryPipeline(
    pipelineSettings({ ...config, local_log: false, backends: [] }, {}, '/nonexistent'),
  )
  const telemetry = telemetryOf(flush === undefined ? pipeline : { ...pipeline, flush })
  const surroundings = { env, home: '/nonexistent', isReplay: false }
  const plugin = assemble(host ?? '', config, telemetry, surroundings, createDiagnostics(undefined))
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
