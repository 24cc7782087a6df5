import { textOf } from '../contract/foreign.ts'
import { WELL_KNOWN_PROVIDERS } from '../semconv/index.ts'

/** A host's name of a model provider → the well-known value where it is one, else what the host said. */
export function modelProvider(provider: unknown): string | undefined {
  const said = textOf(provider)?.trim()
  return said === undefined ? undefined : (WELL_KNOWN_PROVIDERS.get(said.toLowerCase()) ?? said)
}
