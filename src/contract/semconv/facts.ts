import { GEN_AI } from './gen-ai.ts'
import { GEN_AI_NEXT } from './gen-ai-next.ts'
import { GENERAL } from './general.ts'
import { LANGFUSE } from './langfuse.ts'
import { OPENINFERENCE } from './openinference.ts'
import { OWN } from './own.ts'

export type Convention = 'own' | 'gen_ai' | 'gen_ai_next' | 'openinference' | 'langfuse'

/** The attribute names of each convention. A fact has the same key in each table; those of `general` are always enabled. */
const NAMES = {
  own: OWN,
  gen_ai: GEN_AI,
  gen_ai_next: GEN_AI_NEXT,
  openinference: OPENINFERENCE,
  langfuse: LANGFUSE,
  general: GENERAL,
}

type FactKey =
  | keyof typeof OWN
  | keyof typeof GEN_AI
  | keyof typeof GEN_AI_NEXT
  | keyof typeof OPENINFERENCE
  | keyof typeof LANGFUSE
  | keyof typeof GENERAL

/** The attribute names of a fact in the enabled conventions. Empty if none has one. */
export type SpanFact = readonly string[]

/** All facts, resolved once for a namespace and a choice of conventions. */
export type FactNames = Readonly<Record<FactKey, SpanFact>>

export function resolveNamespace(template: string, namespace: string): string {
  return template.replace('{ns}', namespace)
}

/** Facts by namespace and conventions. A process with several plugins, such as the receiver, resolves the same ones for each. */
const RESOLVED = new Map<string, FactNames>()
/** Guards against a program that makes up namespaces. */
const MAX_RESOLVED = 16

export function resolveFacts(namespace: string, conventions: readonly Convention[]): FactNames {
  const key = JSON.stringify([namespace, conventions])
  const known = RESOLVED.get(key)
  if (known !== undefined) return known
  if (RESOLVED.size >= MAX_RESOLVED) RESOLVED.clear()
  const facts = resolve(namespace, new Set(['general', ...conventions]))
  RESOLVED.set(key, facts)
  return facts
}

function resolve(namespace: string, enabled: ReadonlySet<string>): FactNames {
  const facts: Record<string, string[]> = {}
  for (const [convention, names] of Object.entries(NAMES)) {
    for (const [key, name] of Object.entries<string>(names)) {
      facts[key] ??= []
      if (enabled.has(convention)) facts[key].push(resolveNamespace(name, namespace))
    }
  }
  return facts as unknown as FactNames
}

/** The name of a fact of one convention. Empty if the convention is disabled. */
export function nameOf([name = '']: SpanFact): string {
  return name
}

/** Returns a check for names that hookspan writes in any convention. Custom attributes must not use them. */
export function ownershipOf(namespace: string): (name: string) => boolean {
  const spaces = ['gen_ai.', `${namespace}.`, 'hookspan.', 'openinference.', 'llm.', `${LANGFUSE.traceMetadata}.`]
  const tables = [GENERAL, OWN, OPENINFERENCE, LANGFUSE]
  let names: ReadonlySet<string> | undefined
  return name => {
    names ??= new Set(tables.flatMap(table => Object.values<string>({ ...table })))
    return names.has(name) || spaces.some(space => name.startsWith(space))
  }
}
