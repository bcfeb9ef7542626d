// The bar above a view: what a link names and this page does not have, and failed requests.
import { notes } from "../state/page/notes";
import { Icon } from "../ui/icons";

export function LinkNotes() {
  const list = notes.value;
  return (
    <div class="notesbar linknotes" role="status">
      {list.length > 0 && (
        <>
          <Icon name="alert" />
          <ul>
            {list.map((one) => (
              <li key={one}>{one}</li>
            ))}
          </ul>
          <button
            type="button"
            class="iconbtn"
            aria-label="Close the notes"
            onClick={() => {
              notes.value = [];
            }}
          >
            <Icon name="close" />
          </button>
        </>
      )}
    </div>
  );
}
