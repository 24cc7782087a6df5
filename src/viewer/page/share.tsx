import { useRef, useState } from 'preact/hooks'
import type { Shared } from '../server/api.ts'
import { Button, CopyButton, Notice } from './elements.tsx'
import { fetchJson, problemOf, sendRequest } from './requests.ts'

const REVOKE_DELAY_MILLIS = 10_000

export function ShareButton({ id }: { readonly id: string }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [shared, setShared] = useState<Shared>()
  const [problem, setProblem] = useState('')
  const of = encodeURIComponent(id)
  const attempt = (act: Promise<void>): void => {
    setProblem('')
    act.catch((error: unknown) => setProblem(problemOf(error, 'The export failed.')))
  }
  const open = (): void => {
    dialog.current?.showModal()
    attempt(fetchJson<Shared>(`/api/export?of=${of}`).then(setShared))
  }
  return (
    <>
      <Button onClick={open}>Share</Button>
      <dialog ref={dialog} class="share" aria-label="Share">
        <h2>Review before sharing</h2>
        <pre>{shared?.lines.join('\n') ?? 'Loading …'}</pre>
        {problem !== '' && <Notice tone="failed">{problem}</Notice>}
        <p>
          <button type="button" disabled={!shared} onClick={() => attempt(save(`/api/export/html?of=${of}`))}>
            Save as HTML
          </button>{' '}
          <button type="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </p>
        {shared !== undefined && shared.commands.length > 0 && (
          <p class="small dim">
            To export to other formats or to a backend, run these commands in a terminal. This page only reads.
          </p>
        )}
        {shared?.commands.map(command => (
          <p key={command} class="command line">
            <code>{command}</code> <CopyButton text={command} label="Copy the command" />
          </p>
        ))}
      </dialog>
    </>
  )
}

/** Saves through a link to a local object: a link to the server would lack the token. */
async function save(path: string): Promise<void> {
  const url = URL.createObjectURL(await (await sendRequest(path)).blob())
  const link = document.createElement('a')
  link.href = url
  link.download = 'hookspan.html'
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), REVOKE_DELAY_MILLIS)
}
