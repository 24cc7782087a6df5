import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { DiffLine } from '../../reading/argument-lines.ts'
import { visibleText } from '../../reading/display-text.ts'
import { editLines } from '../../reading/edit-lines.ts'
import { countOf, humanCount } from '../../reading/human-figures.ts'
import type { LongValue, ValuePart } from '../server/api.ts'
import { CopyButton } from './elements.tsx'
import { Code } from './highlight.tsx'
import { Markdown } from './markdown.tsx'
import { type ContentPart, type ConversationMessage, jsonIn, messagesIn } from './messages.ts'
import { fetchJson, ViewerRequestError } from './requests.ts'

interface ContentProps {
  readonly label: string
  readonly attribute: string
  readonly value: LongValue
  /** Undefined = the rest of a long value cannot be loaded. */
  readonly path?: string
  readonly pick?: MessagePick
}

type MessagePick = (messages: readonly ConversationMessage[]) => readonly ConversationMessage[]

export function ContentBlock({ label, attribute, value, path, pick }: ContentProps): JSX.Element {
  const { text, isWhole, more } = useWhole(value, attribute, path)
  return (
    <section class="content">
      <h3>
        {label} <CopyButton text={text} label={`Copy: ${label}`} />
      </h3>
      <FormattedText text={text} isWhole={isWhole} pick={pick} />
      {more}
    </section>
  )
}

interface FormattedProps {
  readonly text: string
  readonly isWhole: boolean
  readonly pick: MessagePick | undefined
}

function FormattedText({ text, isWhole, pick = all => all }: FormattedProps): JSX.Element {
  const messages = isWhole ? messagesIn(text) : undefined
  if (messages !== undefined) return <Conversation messages={pick(messages)} />
  const json = isWhole ? jsonIn(text) : undefined
  if (json !== undefined) return <JsonValue value={json} />
  const edit = editLines(text)
  return edit.length > 0 ? <DiffText lines={edit} /> : <LongText text={text} isCode={/^\s*[[{]/.test(text)} />
}

function JsonValue({ value }: { readonly value: object }): JSX.Element {
  const edit = editLines(value)
  return (
    <>
      {edit.length > 0 && <DiffText lines={edit} />}
      <Branch value={value} isOpen={edit.length === 0} depth={0} />
    </>
  )
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
            {parts.map((part, place) =>
              part.type === 'text' && role === 'assistant' ? (
                <Markdown key={place} text={part.text} />
              ) : (
                <PartBlock key={place} part={part} />
              ),
            )}
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
      setProblem(error instanceof ViewerRequestError ? error.message : 'Loading failed.')
    }
  }
  const more =
    missing === 0 ? null : (
      <p class="small">
        {path === undefined ? (
          `${humanCount(missing)} more characters`
        ) : (
          <button type="button" class="quiet" onClick={() => void fetchMore()}>
            {humanCount(missing)} more characters
          </button>
        )}
        {problem}
      </p>
    )
  return { text, isWhole: missing === 0, more }
}

const FEW_ENTRIES = 100

interface BranchProps {
  readonly name?: string
  readonly value: object
  readonly isOpen: boolean
  readonly depth: number
}

/** Limits automatic opening: otherwise a value a thousand levels deep would be rendered whole. */
const OPEN_DEPTH = 3

/** JSON with foldable levels. Closed levels are not rendered, so depth and size cost nothing until opened. */
function Branch({ name, value, isOpen, depth }: BranchProps): JSX.Element {
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
              <button type="button" class="quiet" onClick={() => setMost(most * 10)}>
                {humanCount(entries.length - most)} more
              </button>
            </li>
          )}
        </ul>
      )}
    </details>
  )
}

interface EntryProps {
  readonly name: string
  readonly value: unknown
  readonly isOpen: boolean
  readonly depth: number
}

function Entry({ name, value, isOpen, depth }: EntryProps): JSX.Element {
  if (typeof value === 'object' && value !== null)
    return <Branch name={name} value={value} isOpen={isOpen && Object.keys(value).length <= 8} depth={depth} />
  const text = String(value)
  return (
    <>
      <code class="key">{visibleValue(name)}</code>{' '}
      {text.includes('\n') || text.length > 200 ? (
        <LongText text={text} isCode={CODE_FIELDS.has(name)} />
      ) : (
        <code class={`value is-${typeof value}`}>{visibleValue(text)}</code>
      )}
    </>
  )
}

/** Fields of tools that usually hold source code or a command. */
const CODE_FIELDS: ReadonlySet<string> = new Set(['content', 'file_text', 'code', 'script', 'command', 'new_string'])

/** Longer texts are collapsed, so that what follows stays within reach. */
const FEW_LINES = 24
const FEW_CHARS = 3_000

function LongText({ text, isCode = false }: { readonly text: string; readonly isCode?: boolean }): JSX.Element {
  const [isAll, setAll] = useState(false)
  const lines = text.split('\n')
  const isLong = lines.length > FEW_LINES + 4 || text.length > FEW_CHARS * 1.2
  const part = isAll || !isLong ? text : lines.slice(0, FEW_LINES).join('\n').slice(0, FEW_CHARS)
  return (
    <div class="long-text">
      {isCode ? <Code text={visibleValue(part)} /> : <pre>{visibleValue(part)}</pre>}
      {isLong && (
        <button type="button" class="quiet" onClick={() => setAll(!isAll)}>
          {isAll ? 'Show less' : `Show all: ${humanCount(lines.length)} lines, ${humanCount(text.length)} characters`}
        </button>
      )}
    </div>
  )
}

const CLASSES = { ' ': '', '-': 'is-gone', '+': 'is-new' } as const
const SIGNS = { ' ': ' ', '-': '−', '+': '+' } as const

interface DiffProps {
  readonly lines: readonly DiffLine[]
  readonly rest?: string
}

export function DiffText({ lines, rest = '' }: DiffProps): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide diff scrolls, also by keyboard
    <pre class="diff" tabIndex={0}>
      {lines.map(({ sign, text }, index) => (
        <span key={`${index}${sign}`} class={CLASSES[sign]}>
          {SIGNS[sign]} {visibleValue(text)}
          {'\n'}
        </span>
      ))}
      {rest}
    </pre>
  )
}

export function visibleValue(value: unknown): string {
  return visibleText(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
}
