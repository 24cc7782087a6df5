import { GEN_AI } from './gen-ai.ts'
import { GEN_AI_NEXT } from './gen-ai-next.ts'
import { GENERAL } from './general.ts'
import { LANGFUSE } from './langfuse.ts'
import { OPENINFERENCE } from './openinference.ts'
import { OWN } from './own.ts'

export type Convention = 'own' | 'gen_ai' | 'gen_ai_next' | 'openinference' | 'langfuse'

const TABLES = {
  own: OWN,
  gen_ai: GEN_AI,
  gen_ai_next: GEN_AI_NEXT,
  openinference: OPENINFERENCE,
  langfuse: LANGFUSE,
  general: GENERAL,
}
type Table = keyof typeof TABLES
type Key<In extends Table> = keyof (typeof TABLES)[In]
type KeyRow = { readonly [In in Table]?: Key<In> | readonly Key<In>[] }

/** Facts with names in several conventions, or with a name of OpenInference: the keys of the names in each table. */
const SHARED = {
  traceSession: { general: 'sessionId' },
  sessionId: { own: 'sessionId', gen_ai: 'conversationId' },
  inferenceKind: { openinference: 'spanKind' },
  projectName: { openinference: 'projectName' },
  tags: { openinference: 'tags', langfuse: 'traceTags' },
  metadata: { openinference: 'metadata' },

  input: { openinference: 'inputValue' },
  inputType: { openinference: 'inputMimeType' },
  output: { openinference: 'outputValue' },
  outputType: { openinference: 'outputMimeType' },
  answer: { own: 'contentCompletion', openinference: 'outputValue' },

  model: { gen_ai: 'requestModel', openinference: 'modelName' },
  inferenceModel: { openinference: 'modelName' },
  inferenceProvider: { openinference: 'provider' },
  inferenceSystem: { openinference: 'system' },
  invocationParameters: { openinference: 'invocationParameters' },
  reasoningEffort: { own: 'requestReasoningEffort', gen_ai_next: 'requestReasoningLevel' },
  requestDurationMs: { own: ['httpDurationMs', 'llmResponseDurationMs'] },
  finishReason: { own: 'responseFinishReason', openinference: 'finishReason' },
  statusCode: { general: 'httpStatusCode', own: 'responseStatusCode' },
  indexedInput: { openinference: 'inputMessages' },
  indexedOutput: { openinference: 'outputMessages' },

  inputTokens: { gen_ai: 'usageInputTokens', openinference: 'tokensPrompt' },
  outputTokens: { gen_ai: 'usageOutputTokens', openinference: 'tokensCompletion' },
  totalTokens: { openinference: 'tokensTotal' },
  cacheReadTokens: { gen_ai: 'usageCacheRead', openinference: 'tokensCacheRead' },
  cacheWriteTokens: {
    gen_ai: 'usageCacheCreation',
    gen_ai_next: 'usageCacheWrite',
    openinference: 'tokensCacheWrite',
  },
  reasoningTokens: { gen_ai: 'usageReasoning', openinference: 'tokensReasoning' },
  cost: { own: 'costTotal', openinference: 'costTotal' },

  /** The tool of a tool span. Other records name a tool or a call in `calledTool` and `callId`. */
  toolName: { gen_ai: 'toolName', openinference: 'toolName' },
  toolCallId: { gen_ai: 'toolCallId', openinference: 'toolId' },
  toolParameters: { openinference: 'toolParameters' },
  toolInput: { gen_ai: 'toolCallArguments', openinference: 'inputValue' },
  toolOutput: { gen_ai: 'toolCallResult', openinference: 'outputValue' },
  calledTool: { gen_ai: 'toolName' },
  callId: { gen_ai: 'toolCallId' },
} as const

/** Every other name is a fact of the same key. */
export type FactKey =
  | keyof typeof OWN
  | keyof typeof GEN_AI
  | keyof typeof GEN_AI_NEXT
  | keyof typeof LANGFUSE
  | keyof typeof GENERAL
  | keyof typeof SHARED

type Row = Readonly<Partial<Record<Convention | 'general', readonly string[]>>>

function* rows(): Generator<readonly [key: string, row: Row]> {
  const { openinference: _, ...tables } = TABLES
  for (const [table, names] of Object.entries(tables)) {
    for (const [key, name] of Object.entries<string>(names)) yield [key, { [table]: [name] }]
  }
  for (const [key, row] of Object.entries<KeyRow>(SHARED)) {
    const named = Object.entries(row).map(([table, keys]) => {
      const names: Readonly<Record<string, string>> = TABLES[table as Table]
      return [table, [keys].flat().map(each => names[each])]
    })
    yield [key, Object.fromEntries(named) as Row]
  }
}

/** The facts of spans, and the attribute names of each by convention, which the build's scripts read. @public */
export const FACTS: Readonly<Record<FactKey, Row>> = Object.fromEntries(rows()) as Record<FactKey, Row>

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
  const namesOf = (row: Row): SpanFact =>
    Object.entries(row)
      .filter(([convention]) => enabled.has(convention))
      .flatMap(([, names]) => names.map(name => resolveNamespace(name, namespace)))
  return Object.fromEntries(Object.entries(FACTS).map(([key, row]) => [key, namesOf(row)])) as unknown as FactNames
}

/** The name of a fact of one convention. Empty if the convention is disabled. */
export function nameOf([name = '']: SpanFact): string {
  return name
}

/**
 * Returns a check for the names that hookspan writes or might write, which custom attributes must not use. hookspan owns
 * whole prefixes and single names, whether or not their convention is enabled.
 */
export function ownershipOf(namespace: string): (name: string) => boolean {
  const spaces = ['gen_ai.', `${namespace}.`, 'hookspan.', 'openinference.', 'llm.', `${LANGFUSE.traceMetadata}.`]
  const tables = [GENERAL, OWN, OPENINFERENCE, LANGFUSE]
  let names: ReadonlySet<string> | undefined
  return name => {
    names ??= new Set(tables.flatMap(table => Object.values<string>({ ...table })))
    return names.has(name) || spaces.some(space => name.startsWith(space))
  }
}
