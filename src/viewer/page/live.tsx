import { visibleText } from '../../reading/display-text.ts'
import { humanCost, humanCount } from '../../reading/human-figures.ts'
import type { OpenState } from '../../reading/open-turns.ts'
import type { OpenTraceRow, SessionPage } from '../server/api.ts'
import { changedLook, turnAddress } from './address.ts'
import { CopyButton, KindIcon, LoadState, Notice, Since } from './elements.tsx'
import { percent, shortId } from './formats.ts'
import { useLoaded } from './loading.ts'
import { go, Link } from './navigation.tsx'
import { NotifySwitch } from './notifications.tsx'
import { resumeCommand, stateOf } from './open-traces.ts'
import { SessionTable, sessionsOf, TextFilter } from './sessions.tsx'
import { connection, now, openTraces } from './state.ts'
import { useTextMarks } from './text-marks.ts'

/** The rows that the user can act on come first. */
const STATES = {
  waiting: { title: 'Needs you', badge: 'Waiting for approval ·' },
  hung: { title: 'May hang', badge: 'Silent for' },
  running: { title: 'Running', badge: 'Running ·' },
  'owner-dead': { title: 'Process exited', badge: 'Process exited ·' },
} as const
const RECENT_ROWS = 8

export function LiveView({ text = '' }: { readonly text: string | undefined }) {
  const isLost = connection.value === 'lost'
  const open = openTraces.value?.filter(trace => hasText(trace, text)).sort((a, b) => a.openSince - b.openSince)
  const query = new URLSearchParams({ limit: String(RECENT_ROWS), ...(text !== '' && { text }) })
  const { value, problem } = useLoaded<SessionPage>(`/api/sessions?${query}`)
  useTextMarks(text.split(/\s+/))
  return (
    <>
      <div class="title-line line flow">
        <h1>Live</h1>
        <NotifySwitch />
      </div>
      <search class="filters flow">
        <TextFilter text={text} onText={each => go({ view: 'live', text: each }, 'replace')} />
      </search>
      {open === undefined && <Notice>{isLost ? 'The viewer does not respond.' : 'Loading …'}</Notice>}
      {open?.length === 0 && <Notice>{text !== '' ? NO_MATCH : isLost ? NONE_WHEN_LOST : NONE_OPEN}</Notice>}
      {(Object.keys(STATES) as OpenState[]).map(state => {
        const traces = open?.filter(trace => stateOf(trace, now.value) === state) ?? []
        if (traces.length === 0) return null
        return (
          <section key={state} aria-labelledby={`open-${state}`}>
            <h2 id={`open-${state}`}>
              {STATES[state].title} <span class={`count is-${state}`}>{traces.length}</span>
            </h2>
            <ul class="open-list">
              {traces.map(trace => (
                <OpenCard key={trace.traceId} trace={trace} state={state} />
              ))}
            </ul>
          </section>
        )
      })}
      {open !== undefined && value === undefined && <LoadState problem={problem} />}
      {value !== undefined && value.rows.length > 0 && (
        <section>
          <h2>Recent sessions</h2>
          <SessionTable rows={value.rows} />
          {value.hasMore && (
            <p>
              <Link to={sessionsOf(changedLook({}, { text }))}>All sessions</Link>
            </p>
          )}
        </section>
      )}
    </>
  )
}

const NO_MATCH = 'No running turn contains the text.'
const NONE_OPEN = 'No turn is running. New turns appear here immediately.'
const NONE_WHEN_LOST = 'No turn was running when the connection was lost.'

function hasText({ agent, model, title, sessionTitle, sessionId, doing }: OpenTraceRow, text: string): boolean {
  const steps = doing.flatMap(({ name, hint, command = '' }) => [name, hint, command])
  const shown = [agent, model, title, sessionTitle, sessionId, ...steps].join('\n').toLowerCase()
  const words = text.toLowerCase().split(/\s+/)
  return words.every(word => shown.includes(word))
}

/** A turn with a hundred parallel tools must not push the others out of sight. */
const MAX_STEPS = 5
/** The length at which the viewer's index cuts a command. */
const MAX_COMMAND_CHARS = 2_000

function OpenCard({ trace, state }: { readonly trace: OpenTraceRow; readonly state: OpenState }) {
  const { traceId, agent, title, model, doing, openSince, silentSince, waitingSince, isOwnerAlive } = trace
  const since = state === 'waiting' ? waitingSince : state === 'running' ? openSince : undefined
  const steps = doing.filter(({ command }) => command === undefined).toReversed()
  const hiddenCount = Math.max(0, steps.length - MAX_STEPS)
  return (
    <li class={`card open-card stack is-${state}`}>
      <p class="who">
        <strong>{agent || 'an agent'}</strong>
        {model !== '' && <span class="dim"> · {model}</span>}{' '}
        <span class="badge">
          {STATES[state].badge} <Since at={since ?? silentSince} />
          {state === 'hung' && `${isOwnerAlive ? ' (process alive)' : ''} · open for `}
          {state === 'hung' && <Since at={openSince} />}
        </span>
      </p>
      <h3 class="two-lines">
        <Link to={turnAddress(traceId)}>{title || `Turn ${shortId(traceId)}`}</Link>
      </h3>
      {doing.map(
        ({ spanId, startAt, command }) =>
          command !== undefined && (
            <div key={spanId} class="approval">
              <pre>{visibleText(command)}</pre>
              <p class="small">
                <Link to={turnAddress(traceId, spanId)}>
                  {command.length < MAX_COMMAND_CHARS ? 'Waiting for you' : 'Cut here. See the whole command'} ·{' '}
                  <Since at={startAt} />
                </Link>
              </p>
            </div>
          ),
      )}
      <ul class="steps">
        {steps.slice(0, MAX_STEPS).map(({ spanId, kind, name, hint, startAt }) => (
          <li key={spanId} class="line">
            <KindIcon kind={kind} />
            <Link class="step one-line" to={turnAddress(traceId, spanId)}>
              <span class="name">{name}</span> <span class="dim">{hint}</span>
            </Link>
            <span class="duration dim">
              <Since at={startAt} />
            </span>
          </li>
        ))}
        {hiddenCount > 0 && <li class="dim">and {hiddenCount} more in parallel</li>}
      </ul>
      <CardFigures {...trace} />
    </li>
  )
}

const NEARLY_FULL = 0.8

function CardFigures(trace: OpenTraceRow) {
  const { sessionId, sessionTitle, title, tokens, cost, contextUsed } = trace
  const command = resumeCommand(trace)
  return (
    <p class="small dim card-figures line flow">
      <Link class="one-line" to={{ view: 'session', id: sessionId }}>
        Session {sessionTitle === title ? shortId(sessionId) : sessionTitle}
      </Link>
      {tokens && <span>{`${humanCount(tokens.input ?? 0)} → ${humanCount(tokens.output ?? 0)} tokens`}</span>}
      {cost.paidCount > 0 && <span>{humanCost(cost.dollars)}</span>}
      {contextUsed !== undefined && (
        <span class={contextUsed > NEARLY_FULL ? 'tone-warn' : ''}>{percent(contextUsed)} of the context used</span>
      )}
      <Sparkline minutes={trace.minutes} />
      {command !== undefined && (
        <CopyButton text={command} label={`Copy resume command: ${command}`} idle="Copy resume command" />
      )}
    </p>
  )
}

const MINUTE_MILLIS = 60_000
const SPARK_MINUTES = 15
const SPARK_HEIGHT = 16

function Sparkline({ minutes }: Pick<OpenTraceRow, 'minutes'>) {
  const first = Math.floor(now.value / MINUTE_MILLIS) - SPARK_MINUTES + 1
  const shown = minutes.filter(([minute]) => minute >= first && minute < first + SPARK_MINUTES)
  if (shown.length === 0) return null
  const most = Math.max(1, ...shown.map(([, tokens]) => tokens))
  const bars = shown.map(([minute, tokens]) => {
    const height = Math.max(1, Math.round((tokens / most) * SPARK_HEIGHT))
    return `M${(minute - first) * 4} ${SPARK_HEIGHT}v-${height}h3v${height}z`
  })
  const sum = shown.reduce((all, [, tokens]) => all + tokens, 0)
  const label = `${humanCount(sum)} tokens in the last ${SPARK_MINUTES} minutes`
  return (
    <svg class="sparkline" viewBox={`0 0 ${SPARK_MINUTES * 4} ${SPARK_HEIGHT}`} role="img" aria-label={label}>
      <title>{label}</title>
      <path d={`${bars.join('')}M0 ${SPARK_HEIGHT}h${SPARK_MINUTES * 4}v.5h-${SPARK_MINUTES * 4}z`} />
    </svg>
  )
}
