import { isArray, peek } from '../../contract/foreign.ts'
import { plainCopy } from '../../guards/frozen-copy.ts'
import type { ModelMessage, ToolArguments } from '../../guards/index.ts'
import { isAllText, wholeText, withText } from '../base/content-text.ts'

type Holder = Record<string, unknown>

export interface TextPlace {
  readonly role: ModelMessage['role']
  readonly holder: Holder
  readonly key: string
}

export function textAt({ holder, key }: TextPlace): string {
  return String(holder[key])
}

/** The text typed by the user. opencode marks added text, such as contents of files, as synthetic. */
export function typedParts(parts: unknown): Holder[] {
  return listed(parts).filter((part): part is Holder => isText(part) && peek(part, 'synthetic') !== true)
}

export function replacePrompt(parts: unknown, text: string): void {
  const [first, ...others] = typedParts(parts)
  if (first === undefined || !Array.isArray(parts)) return
  first['text'] = text
  for (const other of others) parts.splice(parts.indexOf(other), 1)
}

export function textPlaces(messages: unknown): TextPlace[] {
  return listed(messages).flatMap(message => {
    const role = peek(peek(message, 'info'), 'role') === 'assistant' ? 'assistant' : 'user'
    return listed(peek(message, 'parts')).flatMap((part): TextPlace[] => {
      if (isText(part)) return [{ role, holder: part as Holder, key: 'text' }]
      const state = peek(part, 'state')
      const key = typeof peek(state, 'output') === 'string' ? 'output' : 'error'
      return typeof peek(state, key) === 'string' ? [{ role: 'tool', holder: state as Holder, key }] : []
    })
  })
}

export function sessionOf(messages: unknown): unknown {
  return peek(peek(listed(messages)[0], 'info'), 'sessionID')
}

/** Returns a tool's result: `output` of opencode's own tools, `content` of tools of MCP servers. */
export function toolResultOf(output: unknown): unknown {
  const content = peek(output, 'content')
  if (!isArray(content)) return peek(output, 'output')
  return isAllText(content) ? wholeText(content) : content
}

export function setResult(output: Holder, value: unknown): void {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (!isArray(output['content'])) output['output'] = text
  else output['content'] = isArray(value) ? plainCopy(value) : withText(output['content'], text)
}

export function appendToResult(output: Holder, text: string): void {
  if (isArray(output['content'])) output['content'] = [...output['content'], { type: 'text', text }]
  else output['output'] = `${output['output'] ?? ''}\n\n${text}`
}

export function replaceFields(held: Holder, args: ToolArguments): void {
  for (const key of Object.keys(held)) if (!Object.hasOwn(args, key)) delete held[key]
  Object.assign(held, plainCopy(args))
}

function isText(part: unknown): boolean {
  return peek(part, 'type') === 'text' && typeof peek(part, 'text') === 'string'
}

function listed(value: unknown): readonly unknown[] {
  return isArray(value) ? value : []
}
