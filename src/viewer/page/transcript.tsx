import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { countOf, humanCost, humanCount } from '../../reading/human-figures.ts'
import type { LongValue, Transcript, TranscriptStep, TranscriptText } from '../server/api.ts'
import { turnAddress } from './address.ts'
import { Button, Fold, KIND_NAMES, KindIcon, Lasted, LoadState, Notice, Outcome } from './elements.tsx'
import { capitalized, parallelText, shortCount } from './formats.ts'
import { tracePath, useLoaded } from './loading.ts'
import { Markdown } from './markdown.tsx'
import { Link } from './navigation.tsx'
import { visibleValue } from './values.tsx'

type TurnProps = Readonly<{ traceId: string }>

export function TurnTranscript({ traceId }: TurnProps) {
  const { value, problem } = useLoaded<Transcript>(`${tracePath(traceId)}/transcript`, [traceId])
  if (value === undefined) return <LoadState problem={problem} />
  return (
    <>
      {!value.hasContent && (
        <Notice>
          Prompts and results of this turn were not captured. To record them from now on, set{' '}
          <code>content_capture: preview</code> or <code>full</code> in the configuration.
        </Notice>
      )}
      <Talk transcript={value} traceId={traceId} />
      {value.cutCount !== undefined && (
        <Notice>{countOf(value.cutCount, 'more step')} not shown. See the timeline.</Notice>
      )}
    </>
  )
}

const BLOCK_STEPS = 50
const STEP_HEIGHT = 27

function Talk({ transcript, traceId }: TurnProps & { readonly transcript: Transcript }) {
  const { question, steps, answer } = transcript
  const blocks = Array.from({ length: Math.ceil(steps.length / BLOCK_STEPS) }, (_, index) => index * BLOCK_STEPS)
  const list = (from: number) => (
    <ol class="talk-steps">
      {steps.slice(from, from + BLOCK_STEPS).map(step => (
        <Step key={step.id} step={step} traceId={traceId} answer={answer?.value} />
      ))}
    </ol>
  )
  const said = (name: string, text: TranscriptText | undefined) =>
    text && (
      <div class={`said is-${name.toLowerCase()}`}>
        <span class="unseen">{name}:</span>
        <LongMarkdown value={text} traceId={traceId} spanId={text.id} />
      </div>
    )
  return (
    <div class="talk">
      {said('Question', question)}
      {blocks.length <= 1
        ? blocks.map(list)
        : blocks.map((from, index) => (
            <LazyBlock
              key={from}
              label={`Steps ${from + 1} to ${Math.min(steps.length, from + BLOCK_STEPS)}`}
              position={index + 1}
              count={blocks.length}
              height={Math.min(BLOCK_STEPS, steps.length - from) * STEP_HEIGHT}
            >
              {() => list(from)}
            </LazyBlock>
          ))}
      {said('Answer', answer)}
    </div>
  )
}

type LongProps = TurnProps & Readonly<{ value: LongValue; spanId: string }>

function LongMarkdown({ value: { value, length }, traceId, spanId }: LongProps) {
  const text = String(value)
  return (
    <>
      <Markdown text={text} />
      {length !== undefined && (
        <Link class="small" to={turnAddress(traceId, spanId)}>
          {humanCount(length - text.length)} more characters
        </Link>
      )}
    </>
  )
}

/** @param props.answer the answer of the turn; the request that gave it does not repeat it */
function Step({ step, traceId, answer }: TurnProps & Readonly<{ step: TranscriptStep; answer: unknown }>) {
  const { id, kind, isError, reasoning, failure, agent, childTraces, attempt, parallel, isParallel } = step
  const text = step.text?.value === answer ? undefined : step.text
  const [choice, choose] = useState<boolean>()
  // A step that fails while it is shown opens, unless the user has chosen.
  const isOpen = choice ?? failure !== undefined
  const hasBody = [text, reasoning, failure, agent, childTraces].some(part => part !== undefined)
  const isAgent = agent !== undefined || childTraces !== undefined
  const isRequest = kind === 'api' || kind === 'auxiliary'
  const detail = isRequest ? String(text?.value ?? '').slice(0, 300) : step.hint
  const name = stepName(step)
  return (
    <li class={`talk-step ${isError ? 'is-failed' : ''} ${isAgent ? 'is-agent' : ''} ${isParallel ? 'in-group' : ''}`}>
      <span class="talk-line line">
        {hasBody ? (
          <Button
            class="unfold"
            aria-expanded={isOpen}
            aria-label={`Details of ${name}`}
            onClick={() => choose(!isOpen)}
          >
            {isOpen ? '▾' : '▸'}
          </Button>
        ) : (
          <span class="unfold" />
        )}
        <KindIcon kind={kind} />
        <span class="unseen">{KIND_NAMES[kind]}</span>
        <Link class={`one-line tone-${isError ? 'error' : 'plain'}`} to={turnAddress(traceId, id)}>
          {name}
        </Link>
        {attempt !== undefined && <span class="chip tone-warn">{attempt}</span>}
        {parallel !== undefined && <span class="chip parallel one-line">{parallelText(parallel)}</span>}
        <span class="hint dim one-line" title={detail}>
          {visibleValue(detail)}
        </span>
        <span class="one-line">
          <StepOutcome {...step} />
        </span>
        <StepFigures {...step} />
      </span>
      {hasBody && isOpen && (
        <div class="fold-body">
          {failure !== undefined && <pre class="failure-text">{visibleValue(failure.value)}</pre>}
          {reasoning !== undefined && (
            <Fold summary={<span class="dim small">Reasoning</span>}>
              <LongMarkdown value={reasoning} traceId={traceId} spanId={id} />
            </Fold>
          )}
          {text !== undefined && <LongMarkdown value={text} traceId={traceId} spanId={id} />}
          {agent !== undefined && <Talk transcript={agent} traceId={traceId} />}
          {childTraces?.map(child => (
            <TurnTranscript key={child} traceId={child} />
          ))}
        </div>
      )}
    </li>
  )
}

const USED = ['input', 'output', 'cached', 'cost'] as const

function StepFigures(step: TranscriptStep) {
  const [input = 0, output = 0, cached = 0, cost = 0] = USED.map(name => sumOf(step, name))
  const tokens = `${humanCount(input)} tokens in, ${humanCount(cached)} of them cached, ${humanCount(output)} out`
  return (
    <span class="talk-figures small dim">
      {input + output > 0 && <span title={tokens}>{`${shortCount(input)} → ${shortCount(output)}`}</span>}
      {cost > 0 && <span>{humanCost(cost)}</span>}
      <Lasted {...step} />
    </span>
  )
}

/** A child agent has used what its steps have used. */
function sumOf(step: TranscriptStep, name: (typeof USED)[number]): number {
  return (step.agent?.steps ?? []).reduce((sum, each) => sum + sumOf(each, name), step[name] ?? 0)
}

/** Outcomes that every step has are not worth a word. */
const USUAL: ReadonlySet<string> = new Set(['completed', 'stop', 'tool_calls', 'end_turn', 'tool_use'])

function StepOutcome({ kind, state, outcome, decidedBy }: TranscriptStep) {
  if (state === 'owner-dead') return <span class="tone-error">left open</span>
  if (state === 'open' && kind === 'approval') return <span class="tone-wait">waits for you</span>
  if (state === 'open') return <span class="tone-running">running</span>
  if (kind !== 'approval') return USUAL.has(outcome?.text ?? '') ? null : <Outcome outcome={outcome} />
  return (
    <>
      <Outcome outcome={outcome} /> <span class="dim">by {decidedBy}, waited</span>
    </>
  )
}

/** `read_file` -> `Read`, `web_search` -> `Web search`, `api.qwen3` -> `qwen3`. */
function stepName({ kind, name }: TranscriptStep): string {
  if (kind !== 'tool') return kind === 'approval' ? 'Approval' : name.replace(/^(api|subagent|skill)\./, '')
  if (name.includes('__')) return name
  const words = name.replace(/^tool\./, '').replace(/_(file|tool)$/, '')
  return capitalized(words.replaceAll('_', ' '))
}

const END_PIXELS = 60

/** The list of a transcript, newest at the bottom. A live one begins at its end, and follows it unless the user scrolls up. */
export function Feed({ isLive, children }: { readonly isLive: boolean; readonly children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null)
  const [isAtEnd, setAtEnd] = useState(true)
  const follows = useRef(isLive)
  const scroller = (): Element => box.current?.closest('.turn-page') ?? document.documentElement
  const jump = (): void => {
    follows.current = true
    scroller().scrollTop = scroller().scrollHeight
  }
  useEffect(() => {
    let last = 0
    const look = (): void => {
      const { scrollTop, scrollHeight, clientHeight } = scroller()
      const isNow = scrollHeight - scrollTop - clientHeight < END_PIXELS
      if (isNow && scrollTop > last) follows.current = true
      else if (!isNow && scrollTop < last) follows.current = false
      last = scrollTop
      setAtEnd(isNow)
    }
    const observer = new ResizeObserver(() => {
      if (follows.current) jump()
      look()
    })
    if (box.current !== null) observer.observe(box.current)
    document.addEventListener('scroll', look, { capture: true, passive: true })
    return () => {
      observer.disconnect()
      document.removeEventListener('scroll', look, { capture: true })
    }
  }, [])
  return (
    <>
      <div ref={box} class="feed" role="feed" aria-label="Transcript">
        {children}
      </div>
      {!isAtEnd && (
        <Button class="jump" onClick={jump}>
          Jump to now ↓
        </Button>
      )}
    </>
  )
}

/** Distance from the visible part within which a block is rendered, so that scrolling shows no gap. */
const NEAR = '1200px 0px'

type LazyProps = Readonly<{ label: string; class?: string; children: () => ComponentChildren }> &
  Readonly<Record<'position' | 'count' | 'height', number>>

/**
 * An article of a feed that is rendered only near the visible part, and keeps its height otherwise.
 *
 * @param props.height expected pixels, until the block has been rendered once
 */
export function LazyBlock({ label, class: name = '', position, count, height, children }: LazyProps) {
  const box = useRef<HTMLElement>(null)
  const known = useRef(height)
  const [isNear, setNear] = useState(false)
  useEffect(() => {
    const element = box.current
    if (element === null) return undefined
    const look = (entries: readonly IntersectionObserverEntry[]): void => {
      const isIntersecting = entries.at(-1)?.isIntersecting === true
      // The focus would be lost with the block.
      if (!isIntersecting && element.contains(document.activeElement)) return
      if (!isIntersecting && element.childElementCount > 0) known.current = element.offsetHeight
      setNear(isIntersecting)
    }
    const observer = new IntersectionObserver(look, { root: element.closest('.turn-page'), rootMargin: NEAR })
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  const style = { minHeight: `${known.current}px` }
  return (
    <article ref={box} class={name} aria-label={label} aria-posinset={position} aria-setsize={count} style={style}>
      {isNear && children()}
    </article>
  )
}
