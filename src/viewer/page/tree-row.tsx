import type { JSX } from 'preact'
import { humanCount, humanDuration } from '../../reading/human-figures.ts'
import type { Fold, PathSectionRow, SpanRow, TraceView } from '../server/api.ts'
import { KindIcon, kindName } from './icons.tsx'
import { Outcome, Since } from './pieces.tsx'
import type { GroupMark } from './row-marks.ts'
import { now } from './state.ts'
import type { TreeMove, VisibleRow } from './tree-model.ts'
import { endOf, extentOf, foldStretches, type ParallelGroup, type RetryWait, type Stretch } from './waterfall.ts'
import { counted } from './words.ts'

interface RowProps {
  readonly domId: string
  readonly place: number
  readonly visible: VisibleRow
  readonly view: TraceView
  readonly isActive: boolean
  readonly isSelected: boolean
  readonly isHit: boolean
  readonly group: GroupMark | undefined
  readonly wait: RetryWait | undefined
  readonly path: readonly PathSectionRow[]
  readonly move: (what: TreeMove) => void
}

export function TreeRow(props: RowProps): JSX.Element {
  const { domId, place, visible, isActive, isSelected, isHit, group, path, move } = props
  const { row, level, position, siblings, isParent, isOpen, fold } = visible
  const classes = [
    'row',
    isActive && 'is-active',
    isSelected && 'is-selected',
    isHit && 'is-hit',
    row.isError && 'is-failed',
    group !== undefined && 'in-group',
    path.some(({ part }) => part !== 'gap') && 'on-path',
  ]
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree takes the keys for all of its rows
    // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus, and says which row is active
    <div
      id={domId}
      class={classes.filter(Boolean).join(' ')}
      role="treeitem"
      aria-level={level}
      aria-setsize={siblings}
      aria-posinset={position}
      aria-expanded={isParent || fold !== undefined ? isOpen : undefined}
      aria-selected={isSelected}
      aria-label={spoken(visible)}
      style={{ '--place': place, '--depth': Math.min(row.depth, MAX_INDENT), '--group': group?.depth ?? 0 }}
      onClick={() => move({ do: 'details', id: row.id })}
    >
      <Name {...props} />
      <Bars {...props} />
    </div>
  )
}

/** Deeper rows share one indent, so that names keep room. */
const MAX_INDENT = 24

function spoken({ row, fold, hiddenCount, isOpen }: VisibleRow): string {
  const lasted = row.state === 'ended' ? humanDuration(row.endAt - row.startAt) : STATES[row.state]
  const parts = [
    fold === undefined ? '' : `${fold.rows.length} times`,
    `${kindName(row.kind)} ${row.name}`,
    row.attempt,
    row.hint?.slice(0, 200),
    fold === undefined ? lasted : `${humanDuration(fold.totalMillis)} together`,
    row.outcome?.text,
    ...(row.marks ?? []).map(({ text }) => text),
    !isOpen && hiddenCount > 0 && fold === undefined ? `${hiddenCount} hidden` : '',
  ]
  return parts.filter(Boolean).join(', ')
}

const STATES = { open: 'open', 'owner-dead': 'open, its process is gone' } as const

function Name({ visible, group, move }: RowProps): JSX.Element {
  const { row, isParent, isOpen, hiddenCount, fold } = visible
  const toggle = (event: Event): void => {
    event.stopPropagation()
    move({ do: isOpen ? 'close' : 'open', id: row.id })
  }
  return (
    <div class="name-cell">
      <span class="twist" aria-hidden="true" onClick={isParent || fold !== undefined ? toggle : undefined}>
        {isParent || fold !== undefined ? (isOpen ? '▾' : '▸') : ''}
      </span>
      <KindIcon kind={row.kind} />
      {fold !== undefined && <span class="times">×{fold.rows.length}</span>}
      <span class="name">{row.name}</span>
      {row.attempt !== undefined && <span class="chip attempt">{row.attempt}</span>}
      {group?.isFirst === true && <Parallel group={group.group} />}
      {row.hint !== undefined && (
        <span class="hint" title={row.hint}>
          {row.hint}
        </span>
      )}
      {!isOpen && fold === undefined && hiddenCount > 0 && <Hidden row={row} count={hiddenCount} />}
      {row.marks?.map(mark => (
        <span key={mark.text} class={`chip tone-${mark.tone}`}>
          {mark.text}
        </span>
      ))}
      {row.childTraces !== undefined && <span class="chip">{counted(row.childTraces.length, 'turn')} of its own</span>}
      <span class="narrow-duration">
        <Lasted row={row} />
      </span>
    </div>
  )
}

const WORTH = 0.95

function Parallel({ group: { rows, millis, sumMillis } }: { readonly group: ParallelGroup }): JSX.Element {
  const gain = millis < sumMillis * WORTH ? `, ${humanDuration(millis)} instead of ${humanDuration(sumMillis)}` : ''
  return (
    <span class="chip parallel">
      {rows.length} in parallel{gain}
    </span>
  )
}

function Hidden({ row, count }: { readonly row: SpanRow; readonly count: number }): JSX.Element {
  const { input = 0, output = 0, errorCount = 0 } = row.sum ?? {}
  return (
    <span class="chip">
      {humanCount(count)} hidden
      {input + output > 0 && `, ${humanCount(input)} → ${humanCount(output)} tokens`}
      {errorCount > 0 && <span class="tone-error">, {counted(errorCount, 'error')}</span>}
    </span>
  )
}

function Bars(props: RowProps): JSX.Element {
  const { visible, view, wait, path } = props
  return (
    <div class="bar-cell">
      {wait !== undefined && (
        <i
          class="bar gap"
          title={`${humanDuration(wait.endAt - wait.startAt)} between the attempts`}
          style={barOf(wait, view)}
        />
      )}
      {visible.fold === undefined ? <SpanBar {...props} /> : <FoldBars {...props} fold={visible.fold} />}
      {path
        .filter(({ part }) => part !== 'gap')
        .map(section => (
          <i key={section.startAt} class={`bar path is-${section.part}`} style={barOf(section, view)} />
        ))}
    </div>
  )
}

function SpanBar({ visible: { row }, view }: RowProps): JSX.Element {
  const isOpen = row.state === 'open'
  const { '--from': from, '--to': to } = barOf({ startAt: row.startAt, endAt: Math.max(row.endAt, row.startAt) }, view)
  const style = isOpen ? { '--from': from } : { '--from': from, '--to': to }
  const kind = [
    'bar',
    `kind-${row.kind}`,
    row.state !== 'ended' && `is-${row.state}`,
    row.isError && 'is-failed',
    row.isPersonWait && 'is-wait',
  ]
  return (
    <>
      <i class={kind.filter(Boolean).join(' ')} style={style} />
      <span class={`label ${labelSide({ startAt: row.startAt, endAt: endOf(row, now.peek()) }, view)}`} style={style}>
        <Lasted row={row} />{' '}
        {row.outcome !== undefined && row.outcome.tone !== 'ok' && <Outcome outcome={row.outcome} />}
      </span>
    </>
  )
}

function FoldBars({ visible: { row }, view, fold }: RowProps & { readonly fold: Fold }): JSX.Element {
  const stretches = foldStretches(fold, view.rows)
  const extent = extentOf(stretches)
  return (
    <>
      {stretches.map(stretch => (
        <i key={stretch.startAt} class={`bar is-fold kind-${row.kind}`} style={barOf(stretch, view)} />
      ))}
      <span class={`label ${labelSide(extent, view)}`} style={barOf(extent, view)}>
        {`${humanDuration(fold.totalMillis)}, longest ${humanDuration(fold.longestMillis)}`}{' '}
        {row.outcome !== undefined && row.outcome.tone !== 'ok' && <Outcome outcome={row.outcome} />}
      </span>
    </>
  )
}

function barOf({ startAt, endAt }: Stretch, view: TraceView) {
  return { '--from': startAt - view.startAt, '--to': endAt - view.startAt }
}

function Lasted({ row }: { readonly row: SpanRow }): JSX.Element {
  if (row.state === 'open') return <Since at={row.startAt} />
  if (row.state === 'owner-dead') return <>left open</>
  return <>{humanDuration(Math.max(0, row.endAt - row.startAt))}</>
}

/** The side of the bar with room for its label: behind, before, or on it. */
function labelSide({ startAt, endAt }: Stretch, view: TraceView): string {
  const until = view.turn.state === 'open' ? now.peek() : Math.max(view.lastAt, view.startAt + 1)
  const length = Math.max(1, until - view.startAt)
  const [from, to] = [(startAt - view.startAt) / length, (endAt - view.startAt) / length]
  if (to < 0.78) return 'is-behind'
  return from > 0.22 ? 'is-before' : 'is-on'
}
