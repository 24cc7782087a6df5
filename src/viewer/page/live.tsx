import type { JSX } from 'preact'
import { humanCount } from '../../reading/human-figures.ts'
import type { OpenState } from '../../reading/open-turns.ts'
import type { OpenSpanRow, OpenTraceRow, SessionPage } from '../server/api.ts'
import { Notice, Since, shortId } from './elements.tsx'
import { KindIcon } from './icons.tsx'
import { useLoaded } from './loading.ts'
import { Link } from './navigation.tsx'
import { byUrgency, stateOf } from './open-traces.ts'
import { SessionTable } from './sessions.tsx'
import { connection, now, openTraces } from './state.ts'

/** A turn with a hundred parallel tools must not push the others out of sight. */
const MAX_STEPS = 5

export function LiveView(): JSX.Element {
  const open = openTraces.value
  return (
    <>
      <h1>Running now</h1>
      {open === undefined ? (
        <Notice>{connection.value === 'lost' ? 'The viewer does not respond.' : 'Loading …'}</Notice>
      ) : (
        <OpenList open={open} />
      )}
      <RecentSessions />
    </>
  )
}

function OpenList({ open }: { readonly open: readonly OpenTraceRow[] }): JSX.Element {
  if (open.length === 0) {
    if (connection.value === 'lost') return <Notice>No turn was running when the connection was lost.</Notice>
    return <Notice>No turn is running. New turns appear here immediately.</Notice>
  }
  return (
    <ul class="open-list">
      {open.toSorted(byUrgency(now.value)).map(trace => (
        <OpenCard key={trace.traceId} trace={trace} />
      ))}
    </ul>
  )
}

function OpenCard({ trace }: { readonly trace: OpenTraceRow }): JSX.Element {
  const { traceId, agent, sessionId, title, model, tokens, doing } = trace
  const steps = doing.toReversed().slice(0, MAX_STEPS)
  const state = stateOf(trace, now.value)
  return (
    <li class={`card open-card is-${state}`}>
      <Badge trace={trace} state={state} />
      <p class="who">
        <strong>{agent || 'an agent'}</strong>
        {model !== '' && <span class="dim"> · {model}</span>}
      </p>
      <h2 class="two-lines">
        <Link to={{ view: 'turn', traceId, look: {} }}>{title || `Turn ${shortId(traceId)}`}</Link>
      </h2>
      <ul class="steps">
        {steps.map(step => (
          <Step key={step.spanId} step={step} traceId={traceId} />
        ))}
        {doing.length > steps.length && <li class="dim">and {doing.length - steps.length} more in parallel</li>}
      </ul>
      <p class="small dim">
        <Link to={{ view: 'session', id: sessionId }}>session {shortId(sessionId)}</Link>
        {tokens !== undefined && ` · ${humanCount(tokens.input ?? 0)} → ${humanCount(tokens.output ?? 0)} tokens`}
      </p>
    </li>
  )
}

function Badge({ trace, state }: { readonly trace: OpenTraceRow; readonly state: OpenState }): JSX.Element {
  const { openSince, silentSince, waitingSince = silentSince, isOwnerAlive } = trace
  switch (state) {
    case 'waiting':
      return (
        <p class="badge">
          Waiting for approval · <Since at={waitingSince} />
        </p>
      )
    case 'owner-dead':
      return (
        <p class="badge">
          Process exited · <Since at={silentSince} />
        </p>
      )
    case 'hung':
      return (
        <p class="badge">
          Silent for <Since at={silentSince} />
          {isOwnerAlive && ' (process alive)'} · open for <Since at={openSince} />
        </p>
      )
    default:
      return (
        <p class="badge">
          Running · <Since at={openSince} />
        </p>
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
