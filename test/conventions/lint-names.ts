import { METRIC, OWN } from '../../src/contract/semconv/index.ts'
import { EXCEPTIONS } from './exceptions.ts'
import { GEN_AI_NEXT_ATTRIBUTES } from './gen-ai-next-table.ts'
import { type AttributeRow, GEN_AI_ATTRIBUTES } from './gen-ai-table.ts'
import { GENERAL_ATTRIBUTES, OPENINFERENCE_ATTRIBUTES, ownRow } from './other-tables.ts'
import { OPENINFERENCE_NAMES, OTEL_ATTRIBUTES, OTEL_METRICS } from './registries.ts'

/** The namespace that everything is linted in. */
export const NAMESPACE = 'hermes'
const GEN_AI = 'gen_ai.'
const MESSAGES = /^(llm\.(?:input|output)_messages)\.\d+\.(.+)$/
const TOOL_CALLS = /^message\.tool_calls\.\d+\.(.+)$/

const OWN_NAMES: ReadonlySet<string> = new Set(Object.values(OWN).map(name => name.replace('{ns}', NAMESPACE)))
const OWN_METRICS: ReadonlySet<string> = new Set(Object.values(METRIC).map(name => name.replace('{ns}', NAMESPACE)))

/** A name that may be written, with its type; or why it may not. */
export type Known = { readonly row: AttributeRow; readonly exception?: string } | { readonly problem: string }

/** @param isNext by the names since v1.41, where they have it */
export function attributeNamed(name: string, isNext = false): Known {
  const key = flattened(name)
  const next = isNext && key.startsWith(GEN_AI) ? GEN_AI_NEXT_ATTRIBUTES[key.slice(GEN_AI.length)] : undefined
  if (next !== undefined) return { row: next }
  const registered = OTEL_ATTRIBUTES.get(key)
  if (registered !== undefined && registered.deprecated === undefined) return typed(otelRow(key))
  if (registered !== undefined && EXCEPTIONS[key] === undefined) {
    return { problem: `is deprecated: ${registered.deprecated}` }
  }
  if (registered !== undefined) return { row: GENERAL_ATTRIBUTES[key] ?? ownRow(key), exception: key }
  if (OPENINFERENCE_NAMES.has(key)) return typed(OPENINFERENCE_ATTRIBUTES[key])
  if (!OWN_NAMES.has(key)) return { problem: 'is in no registry, and in no table of ours' }
  // A name of ours in the space of a convention would be read as one of it.
  if (key.startsWith(`${NAMESPACE}.`)) return { row: ownRow(key) }
  if (EXCEPTIONS[key] !== undefined) return { row: ownRow(key), exception: key }
  return { problem: 'is ours without its namespace, and no exception' }
}

/** Of the messages of a model each has its own names, by its number. */
function flattened(name: string): string {
  const [, list, rest] = MESSAGES.exec(name) ?? []
  if (list === undefined || rest === undefined || !OPENINFERENCE_NAMES.has(list)) return name
  return TOOL_CALLS.exec(rest)?.[1] ?? rest
}

function otelRow(name: string): AttributeRow | undefined {
  return name.startsWith(GEN_AI) ? GEN_AI_ATTRIBUTES[name.slice(GEN_AI.length)] : GENERAL_ATTRIBUTES[name]
}

function typed(row: AttributeRow | undefined): Known {
  return row === undefined ? { problem: 'has no type in the tables of the test' } : { row }
}

/** Why a metric may not be called so; undefined: it may. */
export function metricNameProblem(name: string): { problem?: string; exception?: string } {
  const registered = OTEL_METRICS.get(name)
  if (registered !== undefined) {
    return registered.deprecated === undefined ? {} : { problem: `is deprecated: ${registered.deprecated}` }
  }
  if (EXCEPTIONS[name] !== undefined) return { exception: name }
  const isOurs = OWN_METRICS.has(name) && /^(hermes|hookspan)\./.test(name)
  return isOurs ? {} : { problem: 'is in no registry, and in no table of ours' }
}
