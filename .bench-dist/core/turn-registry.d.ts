import type { RecordIds } from './record-ids.ts';
import { type EndedTurn, type Session, type Turn } from './turn.ts';
/** Which turn a record belongs to, from explicit ids only. */
export declare class TurnRegistry {
    #private;
    /** @param onAdopt told when a turn that was opened without an id has got one */
    constructor(onAdopt: (turn: Turn) => void);
    get openCount(): number;
    /** A session by its id; records that name no session but a turn or a task share one under that name. */
    session(host: string, ids: RecordIds): Session;
    knownSession(host: string, ids: RecordIds): Session | undefined;
    /** Forgets a session whose identity is torn down: should the id come again, it is a new one. */
    forget(session: Session): void;
    /**
     * The open turn that a record belongs to.
     * @param begins the record begins a turn itself, so a turn of another session is none of its business
     */
    find(host: string, ids: RecordIds, begins: boolean): Turn | undefined;
    /** The open turn that ids name, for somebody who only asks. */
    look(host: string, ids: RecordIds): Turn | undefined;
    /** The finished turn that a late record belongs to: named by its id, or the session's last one by time. */
    findEnded(host: string, ids: RecordIds, at: number, begins: boolean): EndedTurn | undefined;
    add(turn: Turn): void;
    /** A turn that was opened without an id takes the first one that its session brings. */
    adopt(turn: Turn, turnId: string): void;
    remove(turn: Turn): void;
    /** @param holders the sessions whose late records may name it: its own, and those that it rotated into */
    retain(ended: EndedTurn, holders: Iterable<Session>): void;
    /** Late records are waited for as long as silent turns are. */
    forgetEndedBefore(at: number): void;
    openTurns(): Generator<Turn>;
    /** The only open turn of a host: what a record without any id may join. */
    onlyOpen(host: string): Turn | undefined;
}
