import { countOf, humanDuration } from '../../reading/human-figures.ts'
import type { LongValue, PromptDiff, SpanDetail, TraceView } from '../server/api.ts'
import { turnAddress } from './address.ts'
import { originOf, type RowOrigin } from './child-traces.ts'
import {
  Button,
  CopyButton,
  DescriptionList,
  Figure,
  Fold,
  KIND_NAMES,
  KindIcon,
  LoadState,
  Notice,
  OpenBadge,
  Outcome,
} from './elements.tsx'
import { brief, isoOf, shortId, timeText } from './formats.ts'
import { tracePath, useLoaded } from './loading.ts'
import { Link } from './navigation.tsx'
import type { TreeMove } from './tree-model.ts'
import { ContentBlock, DiffText, ValueText, visibleValue } from './values.tsx'

type ViewProps = Readonly<{ view: TraceView }>
type PanelProps = RowOrigin & ViewProps & Readonly<{ move: (what: TreeMove) => void }>

export function SpanPanel({ traceId, spanId, view, move }: PanelProps) {
  const path = `${tracePath(traceId)}/spans/${encodeURIComponent(spanId)}`
  const { value, problem } = useLoaded<SpanDetail>(path, [traceId])
  const close = (): void => move({ do: 'leave' })
  return (
    <aside class="panel stack" aria-label="Span details" onKeyDown={({ key }) => key === 'Escape' && close()}>
      <button type="button" class="quiet close" aria-label="Close" onClick={close}>
        ✕
      </button>
      {value === undefined ? (
        <LoadState problem={problem} />
      ) : (
        <Details key={spanId} detail={value} path={path} view={view} show={id => move({ do: 'details', id })} />
      )}
    </aside>
  )
}

type DetailsProps = ViewProps & Readonly<{ detail: SpanDetail; path: string; show: (spanId: string) => void }>

function Details(props: DetailsProps) {
  const { detail, path } = props
  const isRequest = detail.prompt !== undefined
  return (
    <>
      <Head {...props} />
      {detail.failure !== undefined && (
        <section>
          <h3>Failed</h3>
          <pre class="failure-text">{visibleValue(detail.failure)}</pre>
        </section>
      )}
      <Request {...props} />
      {detail.notices.map(notice => (
        <Notice key={notice}>{notice}</Notice>
      ))}
      {contentsOf(detail)
        .filter(({ label }) => !isRequest || !PROMPT_CONTENTS.has(label))
        .map(content => (
          <ContentBlock key={content.attribute} {...content} path={path} />
        ))}
      {detail.groups.map(({ title, facts }) => (
        <section key={title} class="facts">
          <h3>{title}</h3>
          <DescriptionList entries={facts.map(({ label, text }) => [label, visibleValue(text)])} />
        </section>
      ))}
      {detail.events.length > 0 && (
        <section>
          <h3>Events</h3>
          <ol class="events">
            {detail.events.map(({ name, at, attributes }, index) => (
              <li key={`${index} ${name}`}>
                <span class="dim">after {humanDuration(Math.max(0, at - detail.startAt))}</span> {name}
                <Attributes attributes={attributes} />
              </li>
            ))}
          </ol>
        </section>
      )}
      <Links {...detail} />
      <details class="raw">
        <summary>All attributes, as stored</summary>
        <Attributes attributes={detail.attributes} path={path} />
        <h3>Resource attributes</h3>
        <Attributes attributes={detail.resource} />
        <p class="small dim">
          recorded by {detail.scope}, {detail.otelKind}, status {detail.status}, trace {visibleValue(detail.traceId)},
          span {visibleValue(detail.id)}
        </p>
      </details>
    </>
  )
}

function contentsOf({ contents, attributes }: SpanDetail) {
  return contents.map(content => ({ ...content, value: attributes[content.attribute] as LongValue }))
}

/** Contents that the view of a request arranges itself. */
const PROMPT_CONTENTS: ReadonlySet<string> = new Set(['Instructions', 'Input', 'Output'])
const REQUEST_FACTS = ['Input', 'Cached input', 'Output', 'Cost', 'Finish reason']
const LABELS: Readonly<Record<string, string>> = { Input: 'tokens in', Output: 'tokens out' }

function Request({ detail, path, show }: DetailsProps) {
  const { prompt, groups } = detail
  if (prompt === undefined) return null
  const contents = contentsOf(detail)
  const facts = groups.flatMap(group => group.facts).filter(({ label }) => REQUEST_FACTS.includes(label))
  const names = ['Output', 'Instructions', 'Input']
  const [answer, instructions, input] = names.map(name => contents.find(({ label }) => label === name))
  const { previousId, sameCount, freshCount, fresh } = prompt
  return (
    <>
      <dl class="figures flow">
        {facts.map(({ label, text }) => (
          <Figure key={label} label={LABELS[label] ?? label.toLowerCase()}>
            {visibleValue(text)}
          </Figure>
        ))}
      </dl>
      {answer !== undefined && <ContentBlock {...answer} label="Answer" path={path} />}
      {freshCount > 0 && (
        <ContentBlock
          label={previousId === undefined ? `Messages (${freshCount})` : `New since the last request (${freshCount})`}
          attribute={input?.attribute ?? ''}
          value={fresh}
        />
      )}
      {sameCount > 0 && input !== undefined && (
        <Fold summary={countOf(sameCount, 'earlier message')}>
          <ContentBlock
            {...input}
            label="Earlier messages"
            path={path}
            pick={all => all.filter(({ role }) => !instructions || role !== 'system').slice(0, sameCount)}
          />
        </Fold>
      )}
      {instructions !== undefined && (
        <Fold summary="Instructions">
          <ContentBlock {...instructions} path={path} />
        </Fold>
      )}
      {previousId !== undefined && (
        <Fold summary="Prompt compared with the last request">
          <PromptDifference path={path} />
          {linkButton('Show the last request', () => show(previousId))}
        </Fold>
      )}
    </>
  )
}

function linkButton(text: string, act: () => void) {
  return <Button class="link" onClick={act} children={text} />
}

function PromptDifference({ path }: { readonly path: string }) {
  const { value, problem } = useLoaded<PromptDiff>(`${path}/prompt`)
  if (value === undefined) return <LoadState problem={problem} />
  return value.lines.length === 0 ? <p class="dim">No difference.</p> : <DiffText {...value} />
}

function Head({ detail, view, show }: DetailsProps) {
  const { kind, name, startAt, endAt, state, outcome, traceId, parentId } = detail
  // Inserted rows have prefixed ids, so origins are compared.
  const parent = view.rows.find(row => {
    const origin = originOf(row, view)
    return origin.spanId === parentId && origin.traceId === traceId
  })
  return (
    <header>
      <p class="small dim line">
        <KindIcon kind={kind} /> {KIND_NAMES[kind]}
      </p>
      <h2 class="two-lines" title={name}>
        {name}
      </h2>
      <p>
        {state === 'ended' && humanDuration(Math.max(0, endAt - startAt))}
        {state === 'open' && <OpenBadge startAt={startAt} />}
        {state === 'owner-dead' && <span class="badge is-owner-dead">open; process exited</span>}{' '}
        <Outcome outcome={outcome} />
      </p>
      <p class="small dim">
        <time dateTime={isoOf(startAt)}>{timeText(startAt)}</time>, {humanDuration(Math.max(0, startAt - view.startAt))}{' '}
        into the turn
        {parent !== undefined && [' · child of ', linkButton(brief(parent.name), () => show(parent.id))]}
        {' · '}
        <CopyButton text={location.href} label="Copy a link to this span" /> link
      </p>
    </header>
  )
}

function Links({ links, namespace }: SpanDetail) {
  if (links.length === 0) return null
  return (
    <section>
      <h3>Links</h3>
      <ul>
        {links.map(({ traceId, spanId, attributes, isHere }) => {
          const what = String(attributes[`${namespace}.link`]?.value ?? 'another span').replaceAll('_', ' ')
          const text = `${visibleValue(what)}: ${shortId(visibleValue(traceId))}`
          const to = turnAddress(traceId, spanId)
          return (
            <li key={`${traceId} ${spanId}`}>{isHere ? <Link to={to}>{text}</Link> : `${text} (not in this log)`}</li>
          )
        })}
      </ul>
    </section>
  )
}

function Attributes({ attributes, path }: { readonly attributes: SpanDetail['attributes']; readonly path?: string }) {
  const sorted = Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1))
  return (
    <DescriptionList
      class="attributes"
      entries={sorted.map(([name, value]) => [
        visibleValue(name),
        <ValueText value={value} attribute={name} path={path} />,
      ])}
    />
  )
}
