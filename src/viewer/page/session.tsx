import type { JSX } from 'preact'
import { countOf, humanCost, humanDuration } from '../../reading/human-figures.ts'
import type { SessionDetail, TurnRow } from '../server/api.ts'
import { CompareButton } from './compare.tsx'
import { CopyButton, Figure, LoadState, Notice, Outcome, Since, shortId, timeText, UsageFigures } from './elements.tsx'
import { percent, shortCount } from './formats.ts'
import { LazyBlock } from './lazy-block.tsx'
import { useLoaded, usePageTitle } from './loading.ts'
import { go, Link } from './navigation.tsx'
import { ShareButton } from './share.tsx'
import { Feed, TurnTranscript } from './transcript.tsx'

export function SessionView({ id }: { readonly id: string }): JSX.Element {
  const { value, problem } = useLoaded<SessionDetail>(`/api/sessions/${encodeURIComponent(id)}`)
  usePageTitle(value?.turns[0]?.title)
  if (value === undefined) return <LoadState problem={problem} />
  const { session, turns } = value
  const { agent, model, project, branch, startAt, turnCount } = session
  const title = turns[0]?.title ?? ''
  return (
    <>
      <p class="crumbs">
        <Link to={{ view: 'sessions', filter: {} }}>Sessions</Link> / {shortId(id)}{' '}
        <CopyButton text={id} label="Copy the session's id" /> <ShareButton id={id} />{' '}
        <CompareButton id={id} title={title || `Session ${shortId(id)}`} />
      </p>
      <h1 class="two-lines">{title || `Session ${shortId(id)}`}</h1>
      <p class="dim">{[agent, project, branch, model, timeText(startAt)].filter(text => text !== '').join(' · ')}</p>
      <dl class="figures">
        <Figure label={turnCount === 1 ? 'turn' : 'turns'}>{turnCount}</Figure>
        <UsageFigures {...session} />
      </dl>
      {problem !== undefined && <Notice tone="failed">{problem}</Notice>}
      {turnCount > turns.length && <Notice>Only the newest {countOf(turns.length, 'turn')} are shown.</Notice>}
      <Feed label="Transcript" isLive={session.state === 'open'}>
        {turns.map((turn, index) => (
          <Turn key={turn.traceId} turn={turn} before={turns[index - 1]} position={index + 1} count={turns.length} />
        ))}
      </Feed>
    </>
  )
}

interface TurnProps {
  readonly turn: TurnRow
  readonly before: TurnRow | undefined
  readonly position: number
  readonly count: number
}

/** A turn with a few steps, before its transcript has loaded. */
const TURN_HEIGHT = 180

function Turn({ turn, before, position, count }: TurnProps): JSX.Element {
  const { traceId, title, startAt, runningCount } = turn
  const gap = before === undefined ? 0 : startAt - before.lastAt
  return (
    <LazyBlock
      class={`turn-card ${runningCount > 0 ? 'is-running' : ''}`}
      label={`${turnName(turn)}: ${title}`}
      position={position}
      count={count}
      height={TURN_HEIGHT}
    >
      {() => (
        <>
          {gap > LONG_GAP_MILLIS && <p class="gap dim small">{humanDuration(gap)} later</p>}
          <TurnHead turn={turn} before={before} />
          <TurnTranscript traceId={traceId} />
        </>
      )}
    </LazyBlock>
  )
}

function turnName({ isBackground, turnNumber }: TurnRow): string {
  return isBackground ? 'background' : turnNumber === undefined ? 'turn' : `turn ${turnNumber}`
}

function TurnHead({ turn, before }: Pick<TurnProps, 'turn' | 'before'>): JSX.Element {
  const { traceId, startAt, durationMillis, waitedMillis, runningCount, outcome, tokens, cacheHitRate, cost } = turn
  const { input = 0, output = 0 } = tokens ?? {}
  return (
    <p class="talk-head small">
      <Link to={{ view: 'turn', traceId, look: {} }}>{turnName(turn)}</Link>
      <span class="dim">{timeText(startAt)}</span>
      {turn.model !== '' && turn.model !== before?.model && <span>{turn.model}</span>}
      {runningCount > 0 ? (
        <span class="badge is-running">
          open for <Since at={startAt} />
        </span>
      ) : (
        <>
          <Outcome outcome={outcome} />
          <span>{humanDuration(durationMillis)}</span>
        </>
      )}
      {waitedMillis > 0 && <span class="tone-wait">{humanDuration(waitedMillis)} waiting for approval</span>}
      {input + output > 0 && (
        <span class="dim">
          {shortCount(input)} → {shortCount(output)} tokens
          {cacheHitRate !== undefined && turn.cachedTokens > 0 && `, ${percent(cacheHitRate)} cached`}
        </span>
      )}
      {cost.paidCount > 0 && <span class="dim">{humanCost(cost.dollars)}</span>}
      {turn.errorCount > 0 && <span class="tone-error">{countOf(turn.errorCount, 'error')}</span>}
      {before !== undefined && (
        <button type="button" class="quiet" onClick={() => go({ view: 'compare', a: before.traceId, b: traceId })}>
          Compare
          <span class="unseen"> with the previous turn</span>
        </button>
      )}
    </p>
  )
}

/** A pause that suggests that the user was away. */
const LONG_GAP_MILLIS = 60_000
