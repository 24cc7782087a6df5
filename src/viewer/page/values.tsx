import { useState } from 'preact/hooks'
import { editLines } from '../../reading/argument-lines.ts'
import { visibleText } from '../../reading/display-text.ts'
import { countOf, humanCount } from '../../reading/human-figures.ts'
import type { LongValue, PromptDiff, ValuePart } from '../server/api.ts'
import { Button, CopyButton } from './elements.tsx'
import { Code } from './highlight.tsx'
import { Markdown } from './markdown.tsx'
import { type ContentPart, type ConversationMessage, jsonIn, messagesIn } from './messages.ts'
import { fetchJson, problemOf } from './requests.ts'

interface ValueProps {
  readonly value: LongValue
  readonly attribute: string
  /** Undefined = the rest of a long value cannot be loaded. */
  readonly path?: string | undefined
}

type MessagePick = (messages: readonly ConversationMessage[]) => readonly ConversationMessage[]

type ContentProps = ValueProps & Readonly<{ label: string; pick?: MessagePick }>

export function ContentBlock({ label, pick, ...content }: ContentProps) {
  const { text, isWhole, more } = useWhole(content)
  return (
    <section class="content">
      <h3>
        {label} <CopyButton text={text} label={`Copy: ${label}`} />
      </h3>
      {isWhole ? <FormattedText text={text} pick={pick} /> : <PlainText text={text} />}
      {more}
    </section>
  )
}

export function ValueText(props: ValueProps) {
  const { text, more } = useWhole(props)
  return (
    <>
      <LongText text={text} />
      {more}
    </>
  )
}

function useWhole({ value: { value, length }, attribute, path }: ValueProps) {
  const [fetched, setFetched] = useState('')
  const [problem, setProblem] = useState('')
  const text = (typeof value === 'string' ? value : JSON.stringify(value)) + fetched
  const missing = length === undefined ? 0 : Math.max(0, length - text.length)
  const fetchMore = (): void => {
    const query = new URLSearchParams({ attribute, from: String(text.length) })
    fetchJson<ValuePart>(`${path}?${query}`)
      .then(part => setFetched(fetched + part.text))
      .catch((error: unknown) => setProblem(problemOf(error)))
  }
  const label = `${humanCount(missing)} more characters`
  const more = missing > 0 && (
    <p class="small">
      {path === undefined ? label : <Button onClick={fetchMore}>{label}</Button>}
      {problem}
    </p>
  )
  return { text, isWhole: missing === 0, more }
}

function FormattedText({ text, pick = all => all }: { readonly text: string; readonly pick: MessagePick | undefined }) {
  const messages = messagesIn(text)
  if (messages !== undefined) return <Conversation messages={pick(messages)} />
  const json = jsonIn(text)
  return json === undefined ? <PlainText text={text} /> : <JsonValue value={json} />
}

function PlainText({ text }: { readonly text: string }) {
  const edit = editLines(text)
  return edit.length > 0 ? <DiffText lines={edit} /> : <LongText text={text} isCode={/^\s*[[{]/.test(text)} />
}

function JsonValue({ value }: { readonly value: object }) {
  const edit = editLines(value)
  return (
    <>
      {edit.length > 0 && <DiffText lines={edit} />}
      <Branch value={value} isOpen={edit.length === 0} depth={0} />
    </>
  )
}

const FEW_MESSAGES = 6
const ROLES = new Map(Object.entries({ system: 'skill', user: 'session', assistant: 'api', tool: 'tool' }))

function Conversation({ messages }: { readonly messages: readonly ConversationMessage[] }) {
  const [isAll, setAll] = useState(messages.length <= FEW_MESSAGES)
  const from = isAll ? 0 : messages.length - FEW_MESSAGES
  return (
    <>
      {from > 0 && <Button onClick={() => setAll(true)}>{`${humanCount(from)} earlier messages`}</Button>}
      <ol class="messages">
        {messages.slice(from).map(({ role, parts }, index) => (
          <li
            key={from + index}
            class={`message role-${ROLES.has(role) ? role : 'other'}`}
            style={{ '--kind': `var(--kind-${ROLES.get(role)})` }}
          >
            <p class="role dim">{visibleValue(role)}</p>
            {parts.map((part, place) => (
              <PartBlock key={place} part={part} isMarkdown={role === 'assistant'} />
            ))}
          </li>
        ))}
      </ol>
    </>
  )
}

function PartBlock({ part, isMarkdown }: { readonly part: ContentPart; readonly isMarkdown: boolean }) {
  if (part.type === 'text') return isMarkdown ? <Markdown text={part.text} /> : <LongText text={part.text} />
  const { value } = part
  const json = typeof value === 'string' ? jsonIn(value) : typeof value === 'object' ? value : undefined
  return (
    <div class={`part is-${part.type}`}>
      {'name' in part && part.name !== '' && (
        <p class="small">
          {part.type === 'call' ? 'calls ' : ''}
          <code>{visibleValue(part.name)}</code>
        </p>
      )}
      {json ? <JsonValue value={json} /> : <LongText text={String(value ?? '')} />}
    </div>
  )
}

const FEW_ENTRIES = 100
/** Limits automatic opening: otherwise a value a thousand levels deep would be rendered whole. */
const OPEN_DEPTH = 3

type Opening = Readonly<{ isOpen: boolean; depth: number }>

/** JSON with foldable levels. Closed levels are not rendered, so depth and size cost nothing until opened. */
function Branch({ name, value, isOpen, depth }: Opening & Readonly<{ name?: string; value: object }>) {
  const [open, setOpen] = useState(isOpen)
  const entries = Object.entries(value as Readonly<Record<string, unknown>>)
  const [most, setMost] = useState(FEW_ENTRIES)
  const size = countOf(entries.length, Array.isArray(value) ? 'entry' : 'field').replace('entrys', 'entries')
  return (
    <details class="json" open={open} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>
        {name !== undefined && <code class="key">{visibleValue(name)}</code>} <span class="dim">{size}</span>
      </summary>
      {open && (
        <ul>
          {entries.slice(0, most).map(([key, entry]) => (
            <li key={key}>
              <Entry name={key} value={entry} isOpen={entries.length <= 3 && depth < OPEN_DEPTH} depth={depth + 1} />
            </li>
          ))}
          {entries.length > most && (
            <li>
              <Button onClick={() => setMost(most * 10)}>{`${humanCount(entries.length - most)} more`}</Button>
            </li>
          )}
        </ul>
      )}
    </details>
  )
}

const CODE_FIELDS: ReadonlySet<string> = new Set(['content', 'file_text', 'code', 'script', 'command', 'new_string'])

function Entry({ name, value, isOpen, depth }: Opening & Readonly<{ name: string; value: unknown }>) {
  if (typeof value === 'object' && value !== null)
    return <Branch name={name} value={value} isOpen={isOpen && Object.keys(value).length <= 8} depth={depth} />
  const text = String(value)
  return (
    <>
      <code class="key">{visibleValue(name)}</code>{' '}
      {text.includes('\n') || text.length > 200 ? (
        <LongText text={text} isCode={CODE_FIELDS.has(name)} />
      ) : (
        <code class={`value ${typeof value === 'string' ? 'tone-ok' : ''}`}>{visibleValue(text)}</code>
      )}
    </>
  )
}

/** Longer texts are collapsed, so that what follows stays within reach. */
const FEW_LINES = 24
const FEW_CHARS = 3_000

function LongText({ text, isCode = false }: { readonly text: string; readonly isCode?: boolean }) {
  const [isAll, setAll] = useState(false)
  const lines = text.split('\n')
  const isLong = lines.length > FEW_LINES + 4 || text.length > FEW_CHARS * 1.2
  const part = visibleValue(isAll || !isLong ? text : lines.slice(0, FEW_LINES).join('\n').slice(0, FEW_CHARS))
  const all = `Show all: ${humanCount(lines.length)} lines, ${humanCount(text.length)} characters`
  return (
    <div class="long-text">
      {isCode ? <Code text={part} /> : <pre>{part}</pre>}
      {isLong && <Button onClick={() => setAll(!isAll)}>{isAll ? 'Show less' : all}</Button>}
    </div>
  )
}

/** Class and sign. */
const SIGNS = { ' ': ['', ' '], '-': ['is-gone', '−'], '+': ['is-new', '+'] } as const

export function DiffText({ lines, cutCount }: PromptDiff) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide diff scrolls, also by keyboard
    <pre class="diff" tabIndex={0}>
      {lines.map(({ sign, text }, index) => (
        <span key={`${index}${sign}`} class={SIGNS[sign][0]}>
          {`${SIGNS[sign][1]} ${visibleValue(text)}\n`}
        </span>
      ))}
      {cutCount !== undefined && `… ${countOf(cutCount, 'line')} more`}
    </pre>
  )
}

export function visibleValue(value: unknown): string {
  return visibleText(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
}
