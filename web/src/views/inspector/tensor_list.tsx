// The tensors that the program named in a block: several where they share it (views, flattened
// parameters, tied weights).
import type { Allocation, NamedTensor } from "../../api/contract";
import { integer } from "../../text/units";
import { visible } from "../../text/visible";
import { Name } from "../../ui/text";

const KINDS: Record<string, string> = { optimizer_state: "optimizer state" };

/** "" if nothing in it has a name. */
export function tensorName(of: Allocation): string {
  return of.tensors?.rows[0]?.name ?? "";
}

/** "optimizer state exp_avg" */
export function kindText(tensor: NamedTensor): string {
  const kind = KINDS[tensor.kind] ?? tensor.kind;
  const state = tensor.state ? ` ${tensor.state}` : "";
  return `${kind}${state}`;
}

function Row({ tensor }: { tensor: NamedTensor }) {
  const look = [tensor.shape, tensor.dtype].filter((one) => one !== null).join(" ");
  return (
    <>
      <dt>Name</dt>
      <dd title={visible(tensor.name)}>
        <Name text={tensor.name} />
      </dd>
      <dt>Kind</dt>
      <dd>
        <Name text={kindText(tensor)} />
      </dd>
      {tensor.of && (
        <>
          <dt>Of</dt>
          <dd title={visible(tensor.of)}>
            <Name text={tensor.of} />
          </dd>
        </>
      )}
      {look !== "" && (
        <>
          <dt>Shape, type</dt>
          <dd class="mono">
            <Name text={look} />
          </dd>
        </>
      )}
    </>
  );
}

export function TensorList({ of }: { of: Allocation }) {
  const { tensors } = of;
  if (!tensors || tensors.count === 0) return null;
  const more = tensors.count - tensors.rows.length;
  return (
    <section>
      <h3>{tensors.count === 1 ? "Tensor" : `${integer(tensors.count)} tensors`}</h3>
      {tensors.rows.map((tensor) => (
        <dl class="kv" key={tensor.id}>
          <Row tensor={tensor} />
        </dl>
      ))}
      {more > 0 && <p class="faint">{integer(more)} more are in the table of tensors.</p>}
    </section>
  );
}
