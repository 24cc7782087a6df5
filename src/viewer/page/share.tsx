import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import type { Shared } from '../server/api.ts'
import { CopyButton, Notice } from './elements.tsx'
import { fetchFile, fetchJson, ViewerRequestError } from './requests.ts'

export function ShareButton({ id }: { readonly id: string }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  const [shared, setShared] = useState<Shared>()
  const [problem, setProblem] = useState('')
  const path = (what: string): string => `/api/export${what}?of=${encodeURIComponent(id)}`
  const attempt = async (act: () => Promise<void>): Promise<void> => {
    setProblem('')
    try {
      await act()
    } catch (error) {
      setProblem(error instanceof ViewerRequestError ? error.message : 'This could not be done.')
    }
  }
  const open = async (): Promise<void> => {
    dialog.current?.showModal()
    await attempt(async () => setShared(await fetchJson<Shared>(path(''))))
  }
  return (
    <>
      <button type="button" class="quiet" onClick={() => void open()}>
        Share
      </button>
      <dialog ref={dialog} class="share" aria-label="Share">
        <h2>Before you share it</h2>
        <pre>{shared?.lines.join('\n') ?? 'Loading …'}</pre>
        {problem !== '' && <Notice tone="failed">{problem}</Notice>}
        <p>
          <button type="button" disabled={shared === undefined} onClick={() => void attempt(() => save(path('/html')))}>
            Save as HTML
          </button>{' '}
          <button type="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </p>
        <Commands commands={shared?.commands ?? []} />
      </dialog>
    </>
  )
}

function Commands({ commands }: { readonly commands: readonly string[] }): JSX.Element | null {
  if (commands.length === 0) return null
  return (
    <>
      <p class="small dim">
        To export to other formats or to a backend, run these commands in a terminal. This page only reads.
      </p>
      {commands.map(command => (
        <p key={command} class="command">
          <code>{command}</code> <CopyButton text={command} label="Copy the command" />
        </p>
      ))}
    </>
  )
}

/** Saves through a link to a local object: a link to the server would lack the token. */
async function save(path: string): Promise<void> {
  const url = URL.createObjectURL(await fetchFile(path))
  const link = document.createElement('a')
  link.href = url
  link.download = 'hookspan.html'
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), REVOKE_DELAY_MILLIS)
}

const REVOKE_DELAY_MILLIS = 10_000
