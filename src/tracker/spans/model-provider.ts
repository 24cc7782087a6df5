import { literal, type SafeText } from '../../content/capture.ts'
import { textOf } from '../../contract/foreign.ts'
import { OPENINFERENCE_PROVIDER, OPENINFERENCE_SYSTEM, WELL_KNOWN_PROVIDERS } from '../../contract/semconv/index.ts'

/** A host's name of a model provider as the value of `gen_ai.provider.name`: the well-known one, else the host's own. */
export function modelProvider(provider: unknown): string | undefined {
  const name = textOf(provider)?.trim()
  return name === undefined ? undefined : (WELL_KNOWN_PROVIDERS.get(name.toLowerCase()) ?? name)
}

/** `gen_ai.provider.name` as the value of `llm.provider`: 'gcp.gemini' -> 'google'. Returns other names unchanged. */
export function inferenceProvider(provider: SafeText | undefined): SafeText | undefined {
  if (provider === undefined || !Object.hasOwn(OPENINFERENCE_PROVIDER, provider)) return provider
  return literal(OPENINFERENCE_PROVIDER[provider as keyof typeof OPENINFERENCE_PROVIDER])
}

/** The value of `llm.system`. Undefined for a router or a server, which offers models of several makers. */
export function inferenceSystem(provider: SafeText | undefined): SafeText | undefined {
  if (provider === undefined || !Object.hasOwn(OPENINFERENCE_SYSTEM, provider)) return undefined
  return literal(OPENINFERENCE_SYSTEM[provider as keyof typeof OPENINFERENCE_SYSTEM])
}
