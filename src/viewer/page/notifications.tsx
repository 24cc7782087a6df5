import { effect, signal } from '@preact/signals'
import type { JSX } from 'preact'
import { displayText } from '../../reading/display-text.ts'
import { go } from './navigation.tsx'
import { questionOf, waitingTraces } from './open-traces.ts'
import { openTraces } from './state.ts'

const KEY = 'hookspan-notify'
const canNotify = 'Notification' in globalThis
const isOn = signal(canNotify && Notification.permission === 'granted' && localStorage.getItem(KEY) === 'on')

export function NotifySwitch(): JSX.Element | null {
  if (!canNotify) return null
  const change = async (wanted: boolean): Promise<void> => {
    isOn.value = wanted && (await Notification.requestPermission()) === 'granted'
    localStorage.setItem(KEY, isOn.value ? 'on' : 'off')
  }
  return (
    <label class="notify small">
      <input type="checkbox" checked={isOn.value} onChange={event => void change(event.currentTarget.checked)} />
      Notify me when an agent waits for me
      {Notification.permission === 'denied' && <span class="dim"> (blocked by the browser)</span>}
    </label>
  )
}

/** Shows a notification for each new question to the user. Tabs share the tag, so the browser shows it once. */
export function startNotifications(): void {
  const known = new Set<string>()
  let isFirst = true
  effect(() => {
    const open = openTraces.value
    if (open === undefined) return
    for (const trace of waitingTraces(open)) {
      const { traceId, waitingSince, agent } = trace
      const key = `${traceId} ${waitingSince}`
      if (known.has(key)) continue
      known.add(key)
      if (isFirst || !isOn.peek()) continue
      const note = new Notification(`${agent || 'An agent'} waits for you`, {
        body: displayText(questionOf(trace)),
        tag: key,
      })
      note.onclick = () => {
        window.focus()
        go({ view: 'turn', traceId, look: {} })
      }
    }
    isFirst = false
  })
}
