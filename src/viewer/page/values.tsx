import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { diffLines } from '../../reading/argument-lines.ts'
import { humanCount } from '../../reading/human-figures.ts'
import type { LongValue, ValuePart } from '../server/api.ts'
import { fetchJson, RequestError } from './ask.ts'
import { DiffText } from './diff-text.tsx'
import { JsonTree } from './json-tree.tsx'
import { LongText } from './long-text.tsx'
import { type ContentPart, type ConversationMessage, jsonIn, messagesIn } from './messages.ts'
import { CopyButton } from './pieces.tsx'
import { visibleValue } from './shown.ts'
import { editIn } from './span-story.ts'

interface ContentProps {
  readonly label: string
  readonly attribute: string
  readonly value: LongValue
  readonly path: string
}

export function ContentBlock({ label, attribute, value, path }: ContentProps): JSX.Element {
  const { text, isWhole, more } = useWhole(value, attribute, path)
  return (
    <section class="content">
      <h3>
        {label} <CopyButton text={text} label={`Copy: ${label}`} />
      </h3>
      <FormattedText text={text} isWhole={isWhole} />
      {more}
    </section>
  )
}

function FormattedText({ text, isWhole }: { readonly text: string; readonly isWhole: boolean }): JSX.Element {
  const messages = isWhole ? messagesIn(text) : undefined
  if (messages !== undefined) return <Conversation messages={messages} />
  const json = isWhole ? jsonIn(text) : undefined
  return json === undefined ? <LongText text={text} /> : <JsonValue value={json} />
}

function JsonValue({ value }: { readonly value: object }): JSX.Element {
  const edit = editIn(value)
  return (
    <>
      {edit !== undefined && <Diff {...edit} />}
      <JsonTree value={value} isOpen={edit === undefined} />
    </>
  )
}

function Diff({ before, after }: { readonly before: string; readonly after: string }): JSX.Element {
  return <DiffText lines={diffLines(before.split('\n'), after.split('\n'))} />
}

function Conversation({ messages }: { readonly messages: readonly ConversationMessage[] }): JSX.Element {
  const [isAll, setAll] = useState(messages.length <= FEW_MESSAGES)
  const from = isAll ? 0 : messages.length - FEW_MESSAGES
  return (
    <>
      {from > 0 && (
        <button type="button" class="quiet" onClick={() => setAll(true)}>
          {humanCount(from)} earlier messages
        </button>
      )}
      <ol class="messages">
        {messages.slice(from).map(({ role, parts }, index) => (
          <li key={from + index} class={`message role-${ROLES.has(role) ? role : 'other'}`}>
            <p class="role">{visibleValue(role)}</p>
            {parts.map((part, place) => (
              <PartBlock key={place} part={part} />
            ))}
          </li>
        ))}
      </ol>
    </>
  )
}

const FEW_MESSAGES = 6
const ROLES: ReadonlySet<string> = new Set(['system', 'user', 'assistant', 'tool'])

function PartBlock({ part }: { readonly part: ContentPart }): JSX.Element {
  if (part.type === 'text') return <LongText text={part.text} />
  const { value } = part
  const json =
    typeof value === 'string' ? jsonIn(value) : typeof value === 'object' && value !== null ? value : undefined
  return (
    <div class={`part is-${part.type}`}>
      {'name' in part && part.name !== '' && (
        <p class="small">
          {part.type === 'call' ? 'calls ' : ''}
          <code>{visibleValue(part.name)}</code>
        </p>
      )}
      {json === undefined ? <LongText text={String(value ?? '')} /> : <JsonValue value={json} />}
    </div>
  )
}

interface ValueProps {
  readonly value: LongValue
  readonly attribute: string
  readonly path?: string | undefined
}

export function ValueText({ value, attribute, path }: ValueProps): JSX.Element {
  const { text, more } = useWhole(value, attribute, path)
  return (
    <>
      <LongText text={text} />
      {more}
    </>
  )
}

function useWhole(
  { value, length }: LongValue,
  attribute: string,
  path: string | undefined,
): { readonly text: string; readonly isWhole: boolean; readonly more: JSX.Element | null } {
  const [fetched, setFetched] = useState('')
  const [problem, setProblem] = useState('')
  const text = (typeof value === 'string' ? value : JSON.stringify(value)) + fetched
  const missing = length === undefined ? 0 : Math.max(0, length - text.length)
  const fetchMore = async (): Promise<void> => {
    try {
      const query = new URLSearchParams({ attribute, from: String(text.length) })
      const part = await fetchJson<ValuePart>(`${path}?${query}`)
      setFetched(fetched + part.text)
    } catch (error) {
      setProblem(error instanceof RequestError ? error.message : 'This could not be read.')
    }
  }
  const more =
    missing === 0 ? null : (
      <p class="small">
        {path === undefined ? (
          `${humanCount(missing)} characters more`
        ) : (
          <button type="button" class="quiet" onClick={() => void fetchMore()}>
            {humanCount(missing)} characters more
          </button>
        )}
        {problem}
      </p>
    )
  return { text, isWhole: missing === 0, more }
}
