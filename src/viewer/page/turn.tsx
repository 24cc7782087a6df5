import type { JSX } from 'preact'
import { humanCount, humanDuration } from '../../reading/human-figures.ts'
import type { TraceView } from '../server/api.ts'
import type { TurnLook } from './address.ts'
import { Announcer } from './announcer.tsx'
import { useLoaded } from './loading.ts'
import { Link } from './navigation.tsx'
import { CompareButton } from './picking.tsx'
import { CopyButton, Figure, LoadState, Notice, Since, shortId, timeText, UsageFigures } from './pieces.tsx'
import { ShareButton } from './share.tsx'
import { Waterfall } from './turn-tree.tsx'

interface TurnProps {
  readonly traceId: string
  readonly look: TurnLook
}

export function TurnView({ traceId, look }: TurnProps): JSX.Element {
  const path = `/api/traces/${encodeURIComponent(traceId)}`
  const { value, problem } = useLoaded<TraceView>(path, ids => ids.includes(traceId))
  if (value === undefined) return <LoadState problem={problem} />
  return (
    <div class="turn-view">
      <Header view={value} />
      {problem !== undefined && <Notice tone="failed">{problem}</Notice>}
      <Waterfall key={traceId} view={value} look={look} path={path} />
      <Announcer view={value} />
    </div>
  )
}

function Header({ view }: { readonly view: TraceView }): JSX.Element {
  const { turn, previous, next } = view
  const { agent, sessionId, turnNumber, isBackground, title, startAt, outcome, state, model, traceId } = turn
  return (
    <header class="turn-header">
      <p class="crumbs">
        <Link to={{ view: 'session', id: sessionId }}>Session {shortId(sessionId)}</Link> /{' '}
        {isBackground ? 'in the background' : turnNumber === undefined ? 'turn' : `turn ${turnNumber}`}
        <span class="dim"> · {[agent, model, timeText(startAt)].filter(text => text !== '').join(' · ')}</span>{' '}
        <CopyButton text={traceId} label="Copy the turn's trace id" /> <ShareButton id={traceId} />{' '}
        <CompareButton id={traceId} title={title || `Turn ${shortId(traceId)}`} />
        <span class="steps-between">
          {previous !== undefined && <Link to={{ view: 'turn', traceId: previous, look: {} }}>← Previous</Link>}
          {next !== undefined && <Link to={{ view: 'turn', traceId: next, look: {} }}>Next →</Link>}
        </span>
      </p>
      <h1>{title || `Turn ${shortId(traceId)}`}</h1>
      <dl class="figures">
        {state === 'ended' ? (
          <Figure label={outcome?.text ?? 'lasted'} tone={`tone-${outcome?.tone ?? 'plain'}`}>
            {humanDuration(turn.durationMillis)}
          </Figure>
        ) : (
          <OpenFigures view={view} />
        )}
        <UsageFigures {...turn} />
        <Figure label={turn.spanCount === 1 ? 'span' : 'spans'}>{humanCount(turn.spanCount)}</Figure>
      </dl>
    </header>
  )
}

function OpenFigures({ view }: { readonly view: TraceView }): JSX.Element {
  const { turn } = view
  const { state, startAt, lastAt } = turn
  const isOpen = state === 'open'
  const waits = isOpen ? view.rows.filter(row => row.isPersonWait && row.state === 'open') : []
  const waitingSince = waits.reduce((first, row) => Math.min(first, row.startAt), Number.POSITIVE_INFINITY)
  return (
    <>
      <Figure label={isOpen ? 'open for' : 'open; process exited'} tone={isOpen ? 'running' : 'dead'}>
        <Since at={startAt} />
      </Figure>
      {waits.length > 0 ? (
        <Figure label="waiting for approval" tone="waiting">
          <Since at={waitingSince} />
        </Figure>
      ) : (
        <Figure label={turn.isOwnerAlive ? 'silent for; its process is alive' : 'silent for'}>
          <Since at={lastAt} />
        </Figure>
      )}
    </>
  )
}
