import type { JSX } from 'preact'
import { visibleText } from '../../reading/display-text.ts'
import { humanCost, humanCount } from '../../reading/human-figures.ts'
import type { OpenState } from '../../reading/open-turns.ts'
import type { OpenSpanRow, OpenTraceRow, SessionPage } from '../server/api.ts'
import { CopyButton, Notice, Since, shortId } from './elements.tsx'
import { percent } from './formats.ts'
import { KindIcon } from './icons.tsx'
import { useLoaded } from './loading.ts'
import { Link } from './navigation.tsx'
import { NotifySwitch } from './notifications.tsx'
import { resumeCommand, stateOf } from './open-traces.ts'
import { SessionTable } from './sessions.tsx'
import { connection, now, openTraces } from './state.ts'

/** A turn with a hundred parallel tools must not push the others out of sight. */
const MAX_STEPS = 5

/** What the user can act on comes first. */
const SECTIONS: readonly (readonly [OpenState, string])[] = [
  ['waiting', 'Needs you'],
  ['hung', 'May hang'],
  ['running', 'Running'],
  ['owner-dead', 'Process exited'],
]

export function LiveView(): JSX.Element {
  const open = openTraces.value
  return (
    <>
      <div class="title-line">
        <h1>Live</h1>
        <NotifySwitch />
      </div>
      {open === undefined ? (
        <Notice>{connection.value === 'lost' ? 'The viewer does not respond.' : 'Loading …'}</Notice>
      ) : (
        <OpenSections open={open} />
      )}
      <RecentSessions />
    </>
  )
}

function OpenSections({ open }: { readonly open: readonly OpenTraceRow[] }): JSX.Element {
  if (open.length === 0) {
    if (connection.value === 'lost') return <Notice>No turn was running when the connection was lost.</Notice>
    return <Notice>No turn is running. New turns appear here immediately.</Notice>
  }
  const oldestFirst = open.toSorted((a, b) => a.openSince - b.openSince)
  return (
    <>
      {SECTIONS.map(([state, title]) => {
        const traces = oldestFirst.filter(trace => stateOf(trace, now.value) === state)
        if (traces.length === 0) return null
        return (
          <section key={state} aria-labelledby={`open-${state}`}>
            <h2 id={`open-${state}`}>
              {title} <span class={`count is-${state}`}>{traces.length}</span>
            </h2>
            <ul class="open-list">
              {traces.map(trace => (
                <OpenCard key={trace.traceId} trace={trace} state={state} />
              ))}
            </ul>
          </section>
        )
      })}
    </>
  )
}

interface CardProps {
  readonly trace: OpenTraceRow
  readonly state: OpenState
}

function OpenCard({ trace, state }: CardProps): JSX.Element {
  const { traceId, agent, title, model, doing } = trace
  const approvals = doing.filter(({ command }) => command !== undefined)
  const steps = doing.filter(({ command }) => command === undefined).toReversed()
  const hiddenCount = Math.max(0, steps.length - MAX_STEPS)
  return (
    <li class={`card open-card is-${state}`}>
      <p class="who">
        <strong>{agent || 'an agent'}</strong>
        {model !== '' && <span class="dim"> · {model}</span>} <Badge trace={trace} state={state} />
      </p>
      <h3 class="two-lines">
        <Link to={{ view: 'turn', traceId, look: {} }}>{title || `Turn ${shortId(traceId)}`}</Link>
      </h3>
      {approvals.map(approval => (
        <Approval key={approval.spanId} approval={approval} traceId={traceId} />
      ))}
      <ul class="steps">
        {steps.slice(0, MAX_STEPS).map(step => (
          <Step key={step.spanId} step={step} traceId={traceId} />
        ))}
        {hiddenCount > 0 && <li class="dim">and {hiddenCount} more in parallel</li>}
      </ul>
      <CardFigures trace={trace} />
    </li>
  )
}

/** The length at which the viewer's index cuts a command. */
const MAX_COMMAND_CHARS = 2_000

function Approval({ approval, traceId }: { readonly approval: OpenSpanRow; readonly traceId: string }): JSX.Element {
  const { spanId, startAt, command = '' } = approval
  return (
    <div class="approval">
      <pre>{visibleText(command)}</pre>
      <p class="small">
        <Link to={{ view: 'turn', traceId, look: { span: spanId } }}>
          {command.length < MAX_COMMAND_CHARS ? 'Waiting for you' : 'Cut here. See the whole command'} ·{' '}
          <Since at={startAt} />
        </Link>
      </p>
    </div>
  )
}

function CardFigures({ trace }: { readonly trace: OpenTraceRow }): JSX.Element {
  const { sessionId, tokens, cost, contextUsed } = trace
  const command = resumeCommand(trace)
  return (
    <p class="small dim card-figures">
      <Link to={{ view: 'session', id: sessionId }}>session {shortId(sessionId)}</Link>
      {tokens !== undefined && (
        <span>
          {humanCount(tokens.input ?? 0)} → {humanCount(tokens.output ?? 0)} tokens
        </span>
      )}
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

const NEARLY_FULL = 0.8
const MINUTE_MILLIS = 60_000
const SPARK_MINUTES = 15
const SPARK_HEIGHT = 16

function Sparkline({ minutes }: Pick<OpenTraceRow, 'minutes'>): JSX.Element | null {
  const first = Math.floor(now.value / MINUTE_MILLIS) - SPARK_MINUTES + 1
  const shown = minutes.filter(([minute]) => minute >= first && minute < first + SPARK_MINUTES)
  if (shown.length === 0) return null
  const most = shown.reduce((max, [, tokens]) => Math.max(max, tokens), 1)
  const sum = shown.reduce((all, [, tokens]) => all + tokens, 0)
  const bars = shown.map(([minute, tokens]) => {
    const height = Math.max(1, Math.round((tokens / most) * SPARK_HEIGHT))
    return `M${(minute - first) * 4} ${SPARK_HEIGHT}v-${height}h3v${height}z`
  })
  const label = `${humanCount(sum)} tokens in the last ${SPARK_MINUTES} minutes`
  return (
    <svg class="sparkline" viewBox={`0 0 ${SPARK_MINUTES * 4} ${SPARK_HEIGHT}`} role="img" aria-label={label}>
      <title>{label}</title>
      <path d={`${bars.join('')}M0 ${SPARK_HEIGHT}h${SPARK_MINUTES * 4}v.5h-${SPARK_MINUTES * 4}z`} />
    </svg>
  )
}

function Badge({ trace, state }: CardProps): JSX.Element {
  const { openSince, silentSince, waitingSince = silentSince, isOwnerAlive } = trace
  switch (state) {
    case 'waiting':
      return (
        <span class="badge">
          Waiting for approval · <Since at={waitingSince} />
        </span>
      )
    case 'owner-dead':
      return (
        <span class="badge">
          Process exited · <Since at={silentSince} />
        </span>
      )
    case 'hung':
      return (
        <span class="badge">
          Silent for <Since at={silentSince} />
          {isOwnerAlive && ' (process alive)'} · open for <Since at={openSince} />
        </span>
      )
    default:
      return (
        <span class="badge">
          Running · <Since at={openSince} />
        </span>
      )
  }
}

function Step({ step, traceId }: { readonly step: OpenSpanRow; readonly traceId: string }): JSX.Element {
  return (
    <li>
      <KindIcon kind={step.kind} />
      <Link class="step one-line" to={{ view: 'turn', traceId, look: { span: step.spanId } }}>
        <span class="name">{step.name}</span> <span class="hint">{step.hint}</span>
      </Link>
      <span class="duration">
        <Since at={step.startAt} />
      </span>
    </li>
  )
}

const RECENT_ROWS = 8

function RecentSessions(): JSX.Element | null {
  const { value, problem } = useLoaded<SessionPage>(`/api/sessions?limit=${RECENT_ROWS}`)
  if (problem !== undefined && value === undefined) return <Notice tone="failed">{problem}</Notice>
  if (value === undefined || value.rows.length === 0) return null
  return (
    <section>
      <h2>Recent sessions</h2>
      <SessionTable rows={value.rows} />
      {value.next !== undefined && (
        <p>
          <Link to={{ view: 'sessions', filter: {} }}>All sessions</Link>
        </p>
      )}
    </section>
  )
}
