// The list of events: `api/events` of docs/formats/page-api.md.

export interface EventRow {
  step: number;
  time_us: number | null;
  action: string;
  address: string | null;
  address_id: string | null;
  /** null: the file does not say (of a request that failed, of a checksum) */
  size_bytes: number | null;
  device_free_bytes: number | null;
  stream: number;
  allocation_id: number | null;
  segment_id: number | null;
  stack_id: number | null;
  label: string | null;
  slot: number;
}

export interface Events {
  /** that pass the filter */
  total: number;
  /** of the device */
  events: number;
  offset: number;
  /** index of the row at the step that was asked for, else of the one before it */
  nearest: number;
  rows: EventRow[];
}
