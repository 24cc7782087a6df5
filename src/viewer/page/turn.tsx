import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { countOf, humanCount, humanDuration } from '../../reading/human-figures.ts'
import type { TraceView } from '../server/api.ts'
import { lookOfTab, TURN_TABS, type TurnLook } from './address.ts'
import { CompareButton } from './compare.tsx'
import { CopyButton, Figure, LoadState, Notice, Since, shortId, timeText, UsageFigures } from './elements.tsx'
import { useLoaded, usePageTitle } from './loading.ts'
import { Link } from './navigation.tsx'
import { PathBar } from './path-bar.tsx'
import { ShareButton } from './share.tsx'
import { Feed, TurnTranscript } from './transcript.tsx'
import { Waterfall } from './turn-tree.tsx'
import { TabPage, TurnUsage } from './turn-usage.tsx'

interface TurnProps {
  readonly traceId: string
  readonly look: TurnLook
}

export function TurnView({ traceId, look }: TurnProps): JSX.Element {
  const path = `/api/traces/${encodeURIComponent(traceId)}`
  const { value, problem } = useLoaded<TraceView>(path, ids => ids.includes(traceId))
  usePageTitle(value?.turn.title)
  if (value === undefined) return <LoadState problem={problem} />
  const shown = look.tab ?? 'timeline'
  return (
    <div class="turn-view">
      <Header view={value} look={look} />
      {problem !== undefined && <Notice tone="failed">{problem}</Notice>}
      <nav class="tabs" aria-label="Views of this turn">
        {TURN_TABS.map(tab => (
          <Link key={tab} to={{ view: 'turn', traceId, look: lookOfTab(tab) }} isCurrent={tab === shown}>
            {tab[0]?.toUpperCase() + tab.slice(1)}
          </Link>
        ))}
      </nav>
      {shown === 'timeline' && <Waterfall key={traceId} view={value} look={look} path={path} />}
      {shown === 'transcript' && (
        <TabPage label="Transcript">
          <Feed label="Transcript" isLive={value.turn.state === 'open'}>
            <article aria-label="Turn" aria-posinset={1} aria-setsize={1}>
              <TurnTranscript traceId={traceId} />
            </article>
          </Feed>
        </TabPage>
      )}
      {shown === 'usage' && <TurnUsage view={value} />}
      <Announcer view={value} />
    </div>
  )
}

function Header({ view, look }: { readonly view: TraceView; readonly look: TurnLook }): JSX.Element {
  const { turn, previous, next } = view
  const {
    agent,
    sessionId,
    turnNumber,
    isBackground,
    title,
    startAt,
    outcome,
    state,
    model,
    traceId,
    project,
    branch,
  } = turn
  return (
    <header class="turn-header">
      <p class="crumbs">
        <Link to={{ view: 'session', id: sessionId }}>Session {shortId(sessionId)}</Link> /{' '}
        {isBackground ? 'background' : turnNumber === undefined ? 'turn' : `turn ${turnNumber}`}
        <span class="dim">
          {' '}
          · {[agent, project, branch, model, timeText(startAt)].filter(text => text !== '').join(' · ')}
        </span>{' '}
        <CopyButton text={traceId} label="Copy the turn's trace id" /> <ShareButton id={traceId} />{' '}
        <CompareButton id={traceId} title={title || `Turn ${shortId(traceId)}`} />
        <span class="steps-between">
          {previous !== undefined && <Link to={{ view: 'turn', traceId: previous, look: {} }}>← Previous</Link>}
          {next !== undefined && <Link to={{ view: 'turn', traceId: next, look: {} }}>Next →</Link>}
        </span>
      </p>
      <h1 class="two-lines">{title || `Turn ${shortId(traceId)}`}</h1>
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
      <PathBar view={view} look={look} />
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
      <Figure label={isOpen ? 'open for' : 'open; process exited'} tone={isOpen ? 'tone-running' : 'tone-error'}>
        <Since at={startAt} />
      </Figure>
      {waits.length > 0 ? (
        <Figure label="waiting for approval" tone="tone-wait">
          <Since at={waitingSince} />
        </Figure>
      ) : (
        <Figure label={turn.isOwnerAlive ? 'silent for (process alive)' : 'silent for'}>
          <Since at={lastAt} />
        </Figure>
      )}
    </>
  )
}

/** Limits the announcements, so that they do not drown out the rest of the page in a screen reader. */
const ANNOUNCE_PAUSE_MILLIS = 5_000

function Announcer({ view }: { readonly view: TraceView }): JSX.Element {
  const [sentence, setSentence] = useState('')
  const { turn } = view
  const told = useRef({ spanCount: turn.spanCount, state: turn.state, at: 0 })
  useEffect(() => {
    const { spanCount, state, at } = told.current
    const news = [
      turn.spanCount > spanCount ? `${countOf(turn.spanCount - spanCount, 'span')} more` : '',
      turn.state !== state && turn.state === 'ended' ? `ended: ${turn.outcome?.text ?? ''}` : '',
    ].filter(text => text !== '')
    if (news.length === 0) return undefined
    const tell = (): void => {
      told.current = { spanCount: turn.spanCount, state: turn.state, at: Date.now() }
      setSentence(news.join(', '))
    }
    const timer = setTimeout(tell, Math.max(0, at + ANNOUNCE_PAUSE_MILLIS - Date.now()))
    return () => clearTimeout(timer)
  }, [view])
  return (
    <p class="unseen" role="status" aria-live="polite">
      {sentence}
    </p>
  )
}
