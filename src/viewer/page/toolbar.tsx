import type { JSX, RefObject } from 'preact'
import type { TraceView } from '../server/api.ts'
import type { LookChange, TurnLook } from './address.ts'
import type { TreeMove } from './tree-model.ts'

interface ToolbarProps {
  readonly view: TraceView
  readonly look: TurnLook
  readonly hits: readonly string[]
  readonly active: string
  readonly findBox: RefObject<HTMLInputElement>
  readonly change: (changes: LookChange) => void
  readonly move: (what: TreeMove) => void
}

export function Toolbar({ view, look, hits, active, findBox, change, move }: ToolbarProps): JSX.Element {
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'Enter') move({ do: event.shiftKey ? 'previousHit' : 'nextHit' })
    if (event.key === 'Escape') {
      change({ find: undefined })
      document.querySelector<HTMLElement>('[role=tree]')?.focus()
    }
  }
  return (
    <div class="toolbar" role="toolbar" aria-label="Turn">
      <label class="find">
        <span class="unseen">Find in this turn</span>
        <input
          ref={findBox}
          type="search"
          placeholder="Find in this turn  /"
          spellcheck={false}
          value={look.find ?? ''}
          onInput={event => change({ find: event.currentTarget.value || undefined })}
          onKeyDown={onKey}
        />
      </label>
      {look.find !== undefined && <Hits hits={hits} active={active} move={move} />}
      <button type="button" class="quiet" onClick={() => move({ do: 'openAll' })}>
        Open all
      </button>
      <button type="button" class="quiet" onClick={() => move({ do: 'closeAll' })}>
        Close all
      </button>
      {view.folds.length > 0 && (
        <Switch
          isOn={look.isUnfolded !== true && look.unfolded === undefined}
          onSwitch={isOn => change({ isUnfolded: isOn ? undefined : true, unfolded: undefined })}
        >
          Fold repeats
        </Switch>
      )}
      {view.path.length > 0 && (
        <Switch isOn={look.isPath === true} onSwitch={isOn => change({ isPath: isOn ? true : undefined })}>
          What it waited for
        </Switch>
      )}
      <button type="button" class="quiet" aria-label="Keys" onClick={() => move({ do: 'help' })}>
        ?
      </button>
    </div>
  )
}

function Hits({ hits, active, move }: Pick<ToolbarProps, 'hits' | 'active' | 'move'>): JSX.Element {
  return (
    <span class="hits" role="status">
      {hits.length === 0 ? 'nothing' : `${hits.indexOf(active) + 1 || '–'} of ${hits.length}`}
      <button type="button" class="quiet" aria-label="Previous match" onClick={() => move({ do: 'previousHit' })}>
        ↑
      </button>
      <button type="button" class="quiet" aria-label="Next match" onClick={() => move({ do: 'nextHit' })}>
        ↓
      </button>
    </span>
  )
}

interface SwitchProps {
  readonly isOn: boolean
  readonly onSwitch: (isOn: boolean) => void
  readonly children: string
}

function Switch({ isOn, onSwitch, children }: SwitchProps): JSX.Element {
  return (
    <label class="switch">
      <input type="checkbox" checked={isOn} onChange={event => onSwitch(event.currentTarget.checked)} /> {children}
    </label>
  )
}
