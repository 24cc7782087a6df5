import { idOf, isArray, peek, textOf } from '../../contract/foreign.ts'
import { changedFields } from '../../guards/chain.ts'
import { plainCopy } from '../../guards/frozen-copy.ts'
import type { Injection, Outcome, Phase, ToolArguments, ToolCall } from '../../guards/index.ts'
import { toolCallOf } from '../../guards/index.ts'

/**
 * Returns all the text of a content: a string, or parts such as `{ type: 'text', text }`. A guard that checked only one part
 * could be bypassed.
 */
export function wholeText(content: unknown): string {
  if (typeof content === 'string') return content
  return listOf(content)
    .flatMap(part => (isText(part) ? [part.text] : []))
    .join('\n')
}

export function listOf<Element = unknown>(value: unknown): readonly Element[] {
  return isArray(value) ? (value as readonly Element[]) : []
}

export function isAllText(content: unknown): boolean {
  return typeof content === 'string' || (isArray(content) && content.every(isText))
}

/**
 * Returns the same parts with another text, in place of the first text part or, if there is none, in front. Other parts stay
 * unchanged.
 */
export function withText(content: unknown, text: string): unknown[] {
  const parts = listOf(content)
  return replaceFirst(parts, isText, part => [{ ...(part as object), text }]) ?? [{ type: 'text', text }, ...parts]
}

/** Replaces the first part that is meant, and drops the others that are. Returns undefined if there is none. */
export function replaceFirst<Part>(
  parts: readonly Part[],
  isMeant: (part: Part) => boolean,
  replacement: (part: Part) => readonly Part[],
): Part[] | undefined {
  const first = parts.findIndex(isMeant)
  if (first === -1) return undefined
  return parts.flatMap((part, at) => (isMeant(part) ? (at === first ? replacement(part) : []) : [part]))
}

export function isText(part: unknown): part is { readonly type: 'text'; readonly text: string } {
  return peek(part, 'type') === 'text' && typeof peek(part, 'text') === 'string'
}

/** Replaces the arguments in place, in the object that the tool runs with. */
export function replaceFields(holder: Record<string, unknown>, args: ToolArguments): void {
  for (const key of Object.keys(holder)) if (!Object.hasOwn(args, key)) delete holder[key]
  Object.assign(holder, plainCopy(args))
}

/** The model must receive a reason: agents ignore a block without one, and go on. */
const NO_REASON = 'A hook has decided so.'

export function reasonOf({ reason }: Pick<Outcome<Phase>, 'reason'>): string {
  return textOf(reason) ?? NO_REASON
}

/** All injected text, joined. These agents have no separate place for system prompt text. */
export function injectedText({ injected }: Outcome<Phase>): string | undefined {
  return textOf(injected.map(({ text }) => text).join('\n\n'))
}

export function injectedTexts(role: Injection['role'], injected: readonly Injection[]): string[] {
  return injected.flatMap(each => (each.role === role ? [each.text] : []))
}

export function injectedBy(role: Injection['role'], injected: readonly Injection[]): string | undefined {
  return textOf(injectedTexts(role, injected).join('\n\n'))
}

export function addedContext(hookEventName: string, outcome: Outcome<Phase>): object | undefined {
  const additionalContext = injectedText(outcome)
  return additionalContext === undefined ? undefined : { hookSpecificOutput: { hookEventName, additionalContext } }
}

/** A rewritten result, for an agent that accepts only text. */
export function textFor(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

function isArguments(value: unknown): value is ToolArguments {
  return typeof value === 'object' && value !== null && !isArray(value)
}

export function argumentsOf(value: unknown): ToolArguments {
  return isArguments(value) ? value : {}
}

/** Guards read fields, so other input becomes one: `5` -> `{ input: 5 }`. */
export function namedArguments(input: unknown): ToolArguments {
  return isArguments(input) ? input : { input }
}

export function isSameCall(one: ToolArguments, other: ToolArguments): boolean {
  return changedFields('beforeTool', one, other).length === 0
}

export function hookOf(body: unknown): string {
  return textField(body, 'hook_event_name')
}

export function textField(body: unknown, key: string): string {
  return textOf(peek(body, key)) ?? ''
}

export function toolIn(body: unknown, id: string | undefined = idOf(peek(body, 'tool_use_id'))): ToolCall {
  const args = argumentsOf(peek(body, 'tool_input'))
  return toolCallOf({ name: textField(body, 'tool_name'), arguments: args, id, cwd: textOf(peek(body, 'cwd')) })
}

export function signalIn(holder: unknown, key = 'signal'): AbortSignal | undefined {
  const signal = peek(holder, key)
  return signal instanceof AbortSignal ? signal : undefined
}

interface Shape {
  read(response: unknown): string | undefined
  write(response: unknown, text: string): unknown
}

const TEXT: Shape = {
  read: content => (isAllText(content) ? wholeText(content) : undefined),
  write: (content, text) => (typeof content === 'string' ? text : withText(content, text)),
}

const SHAPES: readonly Shape[] = [
  TEXT,
  {
    // Shells: the model receives both streams.
    read: response => {
      const [out, error] = [peek(response, 'stdout'), peek(response, 'stderr')]
      if (typeof out !== 'string' || typeof error !== 'string') return undefined
      return error === '' ? out : `${out}\n${error}`
    },
    write: (response, stdout) => ({ ...(response as object), stdout, stderr: '' }),
  },
  {
    read: response => {
      const text = peek(peek(response, 'file'), 'content')
      return typeof text === 'string' && peek(response, 'type') === 'text' ? text : undefined
    },
    write: (response, content) => ({
      ...(response as object),
      file: { ...(peek(response, 'file') as object), content },
    }),
  },
  {
    read: response => TEXT.read(peek(response, 'content')),
    write: (response, text) => ({ ...(response as object), content: TEXT.write(peek(response, 'content'), text) }),
  },
]

export function resultText(response: unknown): unknown {
  return shapeOf(response)?.read(response) ?? response
}

/**
 * Builds a response in the shape of the tool. Claude Code ignores any other shape, and the model receives the original response.
 */
export function resultInShape(response: unknown, value: unknown): unknown {
  const shape = shapeOf(response)
  return shape === undefined || typeof value !== 'string' ? plainCopy(value) : shape.write(response, value)
}

export function hasKnownShape(response: unknown): boolean {
  return shapeOf(response) !== undefined
}

function shapeOf(response: unknown): Shape | undefined {
  return SHAPES.find(({ read }) => read(response) !== undefined)
}

export async function settle<Result>(
  running: Result | PromiseLike<Result>,
): Promise<{ readonly result?: Awaited<Result>; readonly error?: unknown; readonly isError: boolean }> {
  try {
    return { result: await running, isError: false }
  } catch (error) {
    return { error, isError: true }
  }
}
