import { effect, signal } from '@preact/signals'
import { displayText } from '../../reading/display-text.ts'
import { turnAddress } from './address.ts'
import { Switch } from './elements.tsx'
import { go } from './navigation.tsx'
import { questionOf, waitingTraces } from './open-traces.ts'
import { openTraces } from './state.ts'

const KEY = 'hookspan-notify'
const canNotify = 'Notification' in globalThis
const isOn = signal(canNotify && Notification.permission === 'granted' && localStorage.getItem(KEY) === 'on')

export function NotifySwitch() {
  if (!canNotify) return null
  const change = async (wanted: boolean): Promise<void> => {
    isOn.value = wanted && (await Notification.requestPermission()) === 'granted'
    localStorage.setItem(KEY, isOn.value ? 'on' : 'off')
  }
  return (
    <Switch isOn={isOn.value} onSwitch={wanted => void change(wanted)}>
      Notify me when an agent waits for me
      {Notification.permission === 'denied' && <span class="dim"> (blocked by the browser)</span>}
    </Switch>
  )
}

/** Shows a notification for each new question to the user. Tabs share the tag, so the browser shows it once. */
export function startNotifications(): void {
  let known: ReadonlySet<string> | undefined
  effect(() => {
    if (openTraces.value === undefined) return
    const waiting = waitingTraces(openTraces.value).map(trace => ({
      ...trace,
      tag: `${trace.traceId} ${trace.waitingSince}`,
    }))
    for (const trace of waiting) {
      const { traceId, agent, tag } = trace
      if (known === undefined || known.has(tag) || !isOn.peek()) continue
      const body = displayText(questionOf(trace))
      const note = new Notification(`${agent || 'An agent'} waits for you`, { body, tag })
      note.onclick = () => {
        window.focus()
        go(turnAddress(traceId))
      }
    }
    known = new Set([...(known ?? []), ...waiting.map(({ tag }) => tag)])
  })
}
