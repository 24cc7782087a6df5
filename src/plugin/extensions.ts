import type { UserExtensionOptions } from '../delivery/pipeline/index.ts'
import type { Enrich } from '../tracker/enrichment.ts'
import type { UserConfig } from './config/user-config.ts'
import type { Redact } from './own-redact.ts'
import type { PluginOptions } from './plugin.ts'

export interface Extensions extends UserExtensionOptions {
  readonly enrich?: Enrich | undefined
  readonly redact?: Redact | undefined
}

export interface ParsedOptions extends Pick<PluginOptions, 'host' | 'tracerProvider' | 'meterProvider' | 'logger'> {
  readonly config: UserConfig
  readonly extensions: Extensions
}

export function apart(options: PluginOptions): ParsedOptions {
  const { host, tracerProvider, meterProvider, logger, enrich, spanProcessors, metricReaders, redact, ...rest } =
    options
  const isOwn = typeof redact === 'function'
  const extensions = { enrich, spanProcessors, metricReaders, redact: isOwn ? redact : undefined }
  // A `redact` function also turns masking on.
  const config: UserConfig = redact === undefined ? rest : { ...rest, redact: isOwn || redact }
  return {
    config,
    extensions,
    ...(host !== undefined && { host }),
    ...(tracerProvider !== undefined && { tracerProvider }),
    ...(meterProvider !== undefined && { meterProvider }),
    ...(logger !== undefined && { logger }),
  }
}

export function usableEnrich({ enrich }: Extensions, warn: (line: string) => void): Enrich | undefined {
  if (enrich === undefined || typeof enrich === 'function') return enrich
  warn('enrich: expected a function; nothing is added to the spans')
  return undefined
}
