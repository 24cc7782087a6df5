import type { ComponentChildren, JSX } from 'preact'
import { humanDuration } from '../../reading/human-figures.ts'
import type { TraceView } from '../server/api.ts'
import { changedLook, type TurnLook } from './address.ts'
import { go } from './navigation.tsx'
import { type PathFilter, pathSums } from './path-parts.ts'

interface PathBarProps {
  readonly view: TraceView
  readonly look: TurnLook
}

/** The critical path as one bar. Each of its buttons names a part, explains its colour and filters the rows. */
export function PathBar({ view, look }: PathBarProps): JSX.Element | null {
  const sums = pathSums(view)
  if (sums.length === 0) return null
  const button = (filter: PathFilter, children: ComponentChildren): JSX.Element => {
    const isOn = look.path === filter
    // The marks and the filter are of the timeline.
    const to = changedLook(look, { tab: undefined, path: isOn ? undefined : filter })
    const press = (): void => go({ view: 'turn', traceId: view.turn.traceId, look: to }, 'replace')
    return (
      <button key={filter} type="button" class="quiet" aria-pressed={isOn} onClick={press}>
        {children}
      </button>
    )
  }
  return (
    <div class="critical-path" role="toolbar" aria-label="Critical path">
      {button('all', `Critical path ${humanDuration(sums.reduce((total, [, millis]) => total + millis, 0))}`)}
      <span class="path-bar" aria-hidden="true">
        {sums.map(([part, millis]) => (
          <i key={part} class={`path-part is-${part}`} style={{ flexGrow: millis }} />
        ))}
      </span>
      {sums.map(([part, millis]) =>
        button(
          part,
          <>
            <i class={`path-part is-${part}`} /> {part} {humanDuration(millis)}
          </>,
        ),
      )}
    </div>
  )
}
