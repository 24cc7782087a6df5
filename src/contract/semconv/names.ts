import { GEN_AI, type GenAiNames } from './gen-ai.ts'
import { GEN_AI_NEXT, type GenAiNextNames } from './gen-ai-next.ts'
import { GENERAL, type GeneralNames } from './general.ts'
import { LANGFUSE, type LangfuseNames } from './langfuse.ts'
import { OPENINFERENCE, type OpenInferenceNames } from './openinference.ts'
import { OWN, type OwnNames } from './own.ts'

export type Convention = 'own' | 'gen_ai' | 'gen_ai_next' | 'openinference' | 'langfuse'

/** All attribute names, resolved once for a namespace and a choice of conventions. */
export interface Names {
  readonly general: GeneralNames
  readonly own: OwnNames
  readonly genAi: GenAiNames
  readonly genAiNext: GenAiNextNames
  readonly inference: OpenInferenceNames
  readonly langfuse: LangfuseNames
  /** Returns true for a name that hookspan writes or might write. Custom attributes must not use it. */
  isOurs(name: string): boolean
}

/** The name of every attribute of a disabled convention. Definitions write it as usual, and `AttributeList` drops it. */
export const DISCARDED = ''

function mapValues<Key extends string>(names: { readonly [K in Key]: string }, map: (name: string) => string) {
  return Object.fromEntries(Object.entries<string>(names).map(([key, name]) => [key, map(name)])) as {
    readonly [K in Key]: string
  }
}

const discard = (): string => DISCARDED

export function resolveNamespace(template: string, namespace: string): string {
  return template.replace('{ns}', namespace)
}

/** hookspan owns whole prefixes and single names, whether or not their convention is enabled. */
function ownership(namespace: string): Names['isOurs'] {
  const spaces = ['gen_ai.', `${namespace}.`, 'hookspan.', 'openinference.', 'llm.', `${LANGFUSE.traceMetadata}.`]
  const tables = [GENERAL, OWN, OPENINFERENCE, LANGFUSE]
  let names: ReadonlySet<string> | undefined
  return name => {
    names ??= new Set(tables.flatMap(table => Object.values<string>({ ...table })))
    return names.has(name) || spaces.some(space => name.startsWith(space))
  }
}

export function resolveNames(namespace: string, conventions: readonly Convention[]): Names {
  const has = (convention: Convention): boolean => conventions.includes(convention)
  return {
    general: GENERAL,
    own: mapValues(OWN, has('own') ? name => resolveNamespace(name, namespace) : discard),
    genAi: has('gen_ai') ? GEN_AI : mapValues(GEN_AI, discard),
    genAiNext: has('gen_ai_next') ? GEN_AI_NEXT : mapValues(GEN_AI_NEXT, discard),
    inference: has('openinference') ? OPENINFERENCE : mapValues(OPENINFERENCE, discard),
    langfuse: has('langfuse') ? LANGFUSE : mapValues(LANGFUSE, discard),
    isOurs: ownership(namespace),
  }
}
