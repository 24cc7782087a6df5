import { countOf, humanCost, humanDuration } from '../../reading/human-figures.ts'
import type { SessionDetail, TurnRow } from '../server/api.ts'
import { ALL_SESSIONS, turnAddress } from './address.ts'
import { CompareButton } from './compare.tsx'
import { Button, CopyButton, Figure, LoadState, Notice, OpenBadge, Outcome, UsageFigures } from './elements.tsx'
import { brief, dotted, percent, shortCount, shortId, timeText } from './formats.ts'
import { useLoaded, usePageTitle } from './loading.ts'
import { go, Link } from './navigation.tsx'
import { ShareButton } from './share.tsx'
import { Feed, LazyBlock, TurnTranscript } from './transcript.tsx'

/** A turn with a few steps, before its transcript has loaded. */
const TURN_HEIGHT = 180
/** A pause that suggests that the user was away. */
const LONG_GAP_MILLIS = 60_000

export function SessionView({ id }: { readonly id: string }) {
  const { value, problem } = useLoaded<SessionDetail>(`/api/sessions/${encodeURIComponent(id)}`)
  usePageTitle(value?.session.title)
  if (value === undefined) return <LoadState problem={problem} isPage />
  const { session, turns } = value
  const { agent, model, project, branch, startAt, turnCount } = session
  const title = session.title || `Session ${shortId(id)}`
  return (
    <>
      <p class="crumbs">
        <Link to={ALL_SESSIONS}>Sessions</Link> / {shortId(id)} <CopyButton text={id} label="Copy the session's id" />{' '}
        <ShareButton id={id} /> <CompareButton id={id} title={title} />
      </p>
      <h1 class="two-lines">{title}</h1>
      <p class="dim">{dotted(agent, project, branch, model, timeText(startAt))}</p>
      <dl class="figures flow">
        <Figure label={turnCount === 1 ? 'turn' : 'turns'}>{turnCount}</Figure>
        <UsageFigures {...session} />
      </dl>
      {problem !== undefined && <Notice tone="failed">{problem}</Notice>}
      {turnCount > turns.length && <Notice>Only the newest {countOf(turns.length, 'turn')} are shown.</Notice>}
      <Feed isLive={session.state === 'open'}>
        {turns.map((turn, index) => {
          const before = turns[index - 1]
          const gap = before === undefined ? 0 : turn.startAt - before.lastAt
          return (
            <LazyBlock
              key={turn.traceId}
              class={`turn-card ${turn.runningCount > 0 ? 'is-running' : ''}`}
              label={`${turnName(turn)}: ${turn.title}`}
              position={index + 1}
              count={turns.length}
              height={TURN_HEIGHT}
            >
              {() => (
                <>
                  {gap > LONG_GAP_MILLIS && <p class="gap dim small">{humanDuration(gap)} later</p>}
                  <TurnHead turn={turn} before={before} />
                  <TurnTranscript traceId={turn.traceId} />
                </>
              )}
            </LazyBlock>
          )
        })}
      </Feed>
    </>
  )
}

export function turnName({ isBackground, turnNumber }: TurnRow): string {
  return isBackground ? 'background' : turnNumber === undefined ? 'turn' : `turn ${turnNumber}`
}

function TurnHead({ turn, before }: { readonly turn: TurnRow; readonly before: TurnRow | undefined }) {
  const { traceId, startAt, waitedMillis, tokens, cacheHitRate, cost } = turn
  const { input = 0, output = 0 } = tokens ?? {}
  const cached = cacheHitRate !== undefined && turn.cachedTokens > 0 ? `, ${percent(cacheHitRate)} cached` : ''
  return (
    <p class="talk-head flow small">
      <Link to={turnAddress(traceId)}>{turnName(turn)}</Link>
      <span class="dim">{timeText(startAt)}</span>
      {turn.model !== '' && turn.model !== before?.model && <span>{brief(turn.model)}</span>}
      {turn.runningCount > 0 ? (
        <OpenBadge startAt={startAt} />
      ) : (
        <>
          <Outcome outcome={turn.outcome} />
          <span>{humanDuration(turn.durationMillis)}</span>
        </>
      )}
      {waitedMillis > 0 && <span class="tone-wait">{humanDuration(waitedMillis)} waiting for approval</span>}
      {input + output > 0 && <span class="dim">{`${shortCount(input)} → ${shortCount(output)} tokens${cached}`}</span>}
      {cost.paidCount > 0 && <span class="dim">{humanCost(cost.dollars)}</span>}
      {turn.errorCount > 0 && <span class="tone-error">{countOf(turn.errorCount, 'error')}</span>}
      {before !== undefined && (
        <Button onClick={() => go({ view: 'compare', a: before.traceId, b: traceId })}>
          Compare
          <span class="unseen"> with the previous turn</span>
        </Button>
      )}
    </p>
  )
}
